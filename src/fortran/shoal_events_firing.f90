!> Events that Fortran fires; see the module shoal_events.
module shoal_events_firing
  use, intrinsic :: iso_c_binding
  use shoal_events_c
  implicit none
  private

  !> shoal_fire(events, target, name [, value] [, persistent] [, status]): the value is a scalar or
  !> an array of default integers, of real(c_float), real(c_double) or integer(c_long), or text.
  interface shoal_fire
    module procedure fire_nothing, fire_int, fire_ints, fire_float, fire_floats, fire_double, &
      fire_doubles, fire_long, fire_longs, fire_text
  end interface

  public :: shoal_fire, shoal_fire_address, shoal_fire_after, shoal_fire_when_readable
  public :: shoal_fire_on_signal, shoal_fire_when_memory_above, shoal_cancel

contains

  ! --- events

  subroutine fire_nothing(events, target, name, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    type(c_payload), parameter :: payload = c_payload(shoal_none, 0_c_size_t, c_null_ptr)
    call fire(events, target, name, payload, persistent, status)
  end subroutine

  !> Fires an address of this rank's memory; `type` is shoal_address or that of a context.
  subroutine shoal_fire_address(events, target, name, address, type, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: address
    integer(c_int), intent(in), optional :: type
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    integer(c_int) :: kind
    kind = shoal_address
    if (present(type)) kind = type
    call fire(events, target, name, c_payload(kind, 1_c_size_t, address), persistent, status)
  end subroutine

  subroutine fire_int(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: value
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    call fire_ints(events, target, name, [value], persistent, status)
  end subroutine

  subroutine fire_ints(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    integer(c_int), intent(in), target, contiguous :: value(:)
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    type(c_payload) :: payload
    payload = c_payload(shoal_int, size(value, kind=c_size_t), c_null_ptr)
    if (size(value) > 0) payload%data = c_loc(value(1))
    call fire(events, target, name, payload, persistent, status)
  end subroutine

  subroutine fire_float(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    real(c_float), intent(in) :: value
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    call fire_floats(events, target, name, [value], persistent, status)
  end subroutine

  subroutine fire_floats(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    real(c_float), intent(in), target, contiguous :: value(:)
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    type(c_payload) :: payload
    payload = c_payload(shoal_float, size(value, kind=c_size_t), c_null_ptr)
    if (size(value) > 0) payload%data = c_loc(value(1))
    call fire(events, target, name, payload, persistent, status)
  end subroutine

  subroutine fire_double(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: value
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    call fire_doubles(events, target, name, [value], persistent, status)
  end subroutine

  subroutine fire_doubles(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    real(c_double), intent(in), target, contiguous :: value(:)
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    type(c_payload) :: payload
    payload = c_payload(shoal_double, size(value, kind=c_size_t), c_null_ptr)
    if (size(value) > 0) payload%data = c_loc(value(1))
    call fire(events, target, name, payload, persistent, status)
  end subroutine

  subroutine fire_long(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    integer(c_long), intent(in) :: value
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    call fire_longs(events, target, name, [value], persistent, status)
  end subroutine

  subroutine fire_longs(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    integer(c_long), intent(in), target, contiguous :: value(:)
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    type(c_payload) :: payload
    payload = c_payload(shoal_long, size(value, kind=c_size_t), c_null_ptr)
    if (size(value) > 0) payload%data = c_loc(value(1))
    call fire(events, target, name, payload, persistent, status)
  end subroutine

  !> Text arrives as bytes: shoal_text().
  subroutine fire_text(events, target, name, value, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    character(kind=c_char, len=*), intent(in), target :: value
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    type(c_payload) :: payload
    payload = c_payload(shoal_byte, len(value, kind=c_size_t), c_null_ptr)
    if (len(value) > 0) payload%data = c_loc(value)
    call fire(events, target, name, payload, persistent, status)
  end subroutine

  subroutine fire(events, target, name, payload, persistent, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    type(c_payload), intent(in) :: payload
    logical, intent(in), optional :: persistent
    integer(c_int), intent(out), optional :: status
    if (flag(persistent) == 1) then
      call report(c_fire_persistent(events, target, name // c_null_char, payload), status)
    else
      call report(c_fire(events, target, name // c_null_char, payload), status)
    end if
  end subroutine

  ! --- events that the machine fires; `number` is for shoal_cancel()

  subroutine shoal_fire_after(events, delay_ns, target, name, number, status)
    type(c_ptr), intent(in) :: events
    integer(c_long_long), intent(in) :: delay_ns
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    integer(c_long_long), intent(out), optional :: number
    integer(c_int), intent(out), optional :: status
    integer(c_long_long) :: given_number
    integer(c_int) :: code
    given_number = 0
    code = c_fire_after(events, delay_ns, target, name // c_null_char, c_null_ptr, given_number)
    if (present(number)) number = given_number
    call report(code, status)
  end subroutine

  subroutine shoal_fire_when_readable(events, descriptor, target, name, number, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: descriptor
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    integer(c_long_long), intent(out), optional :: number
    integer(c_int), intent(out), optional :: status
    integer(c_long_long) :: given_number
    integer(c_int) :: code
    given_number = 0
    code = c_fire_when_readable(events, descriptor, target, name // c_null_char, given_number)
    if (present(number)) number = given_number
    call report(code, status)
  end subroutine

  subroutine shoal_fire_on_signal(events, signal, target, name, number, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: signal
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    integer(c_long_long), intent(out), optional :: number
    integer(c_int), intent(out), optional :: status
    integer(c_long_long) :: given_number
    integer(c_int) :: code
    given_number = 0
    code = c_fire_on_signal(events, signal, target, name // c_null_char, given_number)
    if (present(number)) number = given_number
    call report(code, status)
  end subroutine

  subroutine shoal_fire_when_memory_above(events, size_bytes, target, name, number, status)
    type(c_ptr), intent(in) :: events
    integer(c_size_t), intent(in) :: size_bytes
    integer(c_int), intent(in) :: target
    character(len=*), intent(in) :: name
    integer(c_long_long), intent(out), optional :: number
    integer(c_int), intent(out), optional :: status
    integer(c_long_long) :: given_number
    integer(c_int) :: code
    given_number = 0
    code = c_fire_when_memory_above(events, size_bytes, target, name // c_null_char, given_number)
    if (present(number)) number = given_number
    call report(code, status)
  end subroutine

  !> Whether it will not come.
  logical function shoal_cancel(events, number, status)
    type(c_ptr), intent(in) :: events
    integer(c_long_long), intent(in) :: number
    integer(c_int), intent(out), optional :: status
    shoal_cancel = answer(c_cancel(events, number), status)
  end function

end module
