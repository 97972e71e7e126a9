!> Parts of the module shoal_events that its other files share: types, the functions of
!> <shoal/event.h>, and conversions between the languages. Programs use shoal_events.
module shoal_events_c
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  public


  integer(c_int), parameter :: shoal_ok = 0, shoal_error_use = 1, shoal_error_task = 2, &
    shoal_error_stuck = 3, shoal_error_cancelled = 4, shoal_error_other = 5
  !> Where an event comes from, or goes: a rank, or one of these.
  integer(c_int), parameter :: shoal_all = -1, shoal_any = -2, shoal_self = -3
  !> What was fired with an event.
  integer(c_int), parameter :: shoal_none = 0, shoal_int = 1, shoal_float = 2, &
    shoal_double = 3, shoal_byte = 4, shoal_address = 5, shoal_long = 6, shoal_other = -1

  type, bind(c) :: shoal_event
    integer(c_int) :: source
    type(c_ptr) :: name
    integer(c_int) :: type
    integer(c_size_t) :: count
    type(c_ptr) :: data
  end type

  !> One event that a task needs: shoal_dependency(shoal_any, "name").
  type :: shoal_dependency
    integer(c_int) :: source
    character(len=:), allocatable :: name
  end type

  !> What shoal_wait_for() and shoal_retrieve_any() return; ended by shoal_release().
  type :: shoal_event_list
    type(shoal_event), pointer :: events(:) => null()
    type(c_ptr), private :: owner = c_null_ptr
  end type

  abstract interface
    function shoal_task_function(events, count, user) bind(c)
      import
      integer(c_size_t), value :: count
      type(shoal_event), intent(in) :: events(count)
      type(c_ptr), value :: user
      integer(c_int) :: shoal_task_function
    end function
    !> Returns the exit code.
    function shoal_main_function(world, user) bind(c)
      import
      type(c_ptr), value :: world, user
      integer(c_int) :: shoal_main_function
    end function
  end interface

  ! As in event.h.
  type, bind(c) :: c_dependency
    integer(c_int) :: source
    type(c_ptr) :: name
  end type
  type, bind(c) :: c_task
    type(c_funptr) :: function
    type(c_ptr) :: user
    type(c_ptr) :: name
    integer(c_int) :: persistent, greedy, priority
  end type
  type, bind(c) :: c_payload
    integer(c_int) :: type
    integer(c_size_t) :: count
    type(c_ptr) :: data
  end type
  type, bind(c) :: c_list
    integer(c_size_t) :: count
    type(c_ptr) :: events
    type(c_ptr) :: owner
  end type
  type :: text_of_c
    character(kind=c_char, len=:), allocatable :: text
  end type

  interface
    function c_run(argc, argv, main_function, user) bind(c, name="shoal_run")
      import
      integer(c_int), value :: argc
      type(c_ptr), intent(in) :: argv(*)
      type(c_funptr), value :: main_function
      type(c_ptr), value :: user
      integer(c_int) :: c_run
    end function
    function c_rank(world) bind(c, name="shoal_rank")
      import
      type(c_ptr), value :: world
      integer(c_int) :: c_rank
    end function
    function c_size(world) bind(c, name="shoal_size")
      import
      type(c_ptr), value :: world
      integer(c_int) :: c_size
    end function
    function c_wait(world) bind(c, name="shoal_wait")
      import
      type(c_ptr), value :: world
      integer(c_int) :: c_wait
    end function
    function c_last_error() bind(c, name="shoal_last_error")
      import
      type(c_ptr) :: c_last_error
    end function
    function c_make(world, name) bind(c, name="shoal_events_make")
      import
      type(c_ptr), value :: world
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr) :: c_make
    end function
    function c_free(events) bind(c, name="shoal_events_free")
      import
      type(c_ptr), value :: events
      integer(c_int) :: c_free
    end function
    function c_submit(events, task, dependencies, count) bind(c, name="shoal_events_submit")
      import
      type(c_ptr), value :: events
      type(c_task), intent(in) :: task
      type(c_dependency), intent(in) :: dependencies(*)
      integer(c_size_t), value :: count
      integer(c_int) :: c_submit
    end function
    function c_is_submitted(events, name) bind(c, name="shoal_events_is_submitted")
      import
      type(c_ptr), value :: events
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: c_is_submitted
    end function
    function c_remove(events, name) bind(c, name="shoal_events_remove")
      import
      type(c_ptr), value :: events
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: c_remove
    end function
    function c_fire(events, target, name, payload) bind(c, name="shoal_events_fire")
      import
      type(c_ptr), value :: events
      integer(c_int), value :: target
      character(kind=c_char), intent(in) :: name(*)
      type(c_payload), intent(in) :: payload
      integer(c_int) :: c_fire
    end function
    function c_fire_persistent(events, target, name, payload) &
        bind(c, name="shoal_events_fire_persistent")
      import
      type(c_ptr), value :: events
      integer(c_int), value :: target
      character(kind=c_char), intent(in) :: name(*)
      type(c_payload), intent(in) :: payload
      integer(c_int) :: c_fire_persistent
    end function
    function c_fire_after(events, delay_ns, target, name, payload, number) &
        bind(c, name="shoal_events_fire_after")
      import
      type(c_ptr), value :: events
      integer(c_long_long), value :: delay_ns
      integer(c_int), value :: target
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: payload
      integer(c_long_long), intent(out) :: number
      integer(c_int) :: c_fire_after
    end function
    function c_fire_when_readable(events, descriptor, target, name, number) &
        bind(c, name="shoal_events_fire_when_readable")
      import
      type(c_ptr), value :: events
      integer(c_int), value :: descriptor
      integer(c_int), value :: target
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long_long), intent(out) :: number
      integer(c_int) :: c_fire_when_readable
    end function
    function c_fire_on_signal(events, signal, target, name, number) &
        bind(c, name="shoal_events_fire_on_signal")
      import
      type(c_ptr), value :: events
      integer(c_int), value :: signal
      integer(c_int), value :: target
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long_long), intent(out) :: number
      integer(c_int) :: c_fire_on_signal
    end function
    function c_fire_when_memory_above(events, size_bytes, target, name, number) &
        bind(c, name="shoal_events_fire_when_memory_above")
      import
      type(c_ptr), value :: events
      integer(c_size_t), value :: size_bytes
      integer(c_int), value :: target
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long_long), intent(out) :: number
      integer(c_int) :: c_fire_when_memory_above
    end function
    function c_cancel(events, number) bind(c, name="shoal_events_cancel")
      import
      type(c_ptr), value :: events
      integer(c_long_long), value :: number
      integer(c_int) :: c_cancel
    end function
    function c_wait_for(events, dependencies, count, list) bind(c, name="shoal_events_wait")
      import
      type(c_ptr), value :: events
      type(c_dependency), intent(in) :: dependencies(*)
      integer(c_size_t), value :: count
      type(c_list), intent(out) :: list
      integer(c_int) :: c_wait_for
    end function
    function c_retrieve_any(events, dependencies, count, list) &
        bind(c, name="shoal_events_retrieve_any")
      import
      type(c_ptr), value :: events
      type(c_dependency), intent(in) :: dependencies(*)
      integer(c_size_t), value :: count
      type(c_list), intent(out) :: list
      integer(c_int) :: c_retrieve_any
    end function
    function c_event_check(event, type) bind(c, name="shoal_event_check")
      import
      type(shoal_event), intent(in) :: event
      integer(c_int), value :: type
      integer(c_int) :: c_event_check
    end function
    subroutine c_release(list) bind(c, name="shoal_event_list_release")
      import
      type(c_list), intent(inout) :: list
    end subroutine
    function c_lock(events, name) bind(c, name="shoal_events_lock")
      import
      type(c_ptr), value :: events
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: c_lock
    end function
    function c_unlock(events, name) bind(c, name="shoal_events_unlock")
      import
      type(c_ptr), value :: events
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: c_unlock
    end function
    function c_test_lock(events, name) bind(c, name="shoal_events_test_lock")
      import
      type(c_ptr), value :: events
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: c_test_lock
    end function
    function c_define_context(events, size_bytes) bind(c, name="shoal_events_define_context")
      import
      type(c_ptr), value :: events
      integer(c_size_t), value :: size_bytes
      integer(c_int) :: c_define_context
    end function
    function c_create_context(events, type) bind(c, name="shoal_events_create_context")
      import
      type(c_ptr), value :: events
      integer(c_int), value :: type
      type(c_ptr) :: c_create_context
    end function
    function c_strlen(text) bind(c, name="strlen")
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: c_strlen
    end function
  end interface

contains

  function shoal_last_error() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_last_error())
  end function

  subroutine shoal_release(list)
    type(shoal_event_list), intent(inout) :: list
    type(c_list) :: got
    got%count = 0
    got%events = c_null_ptr
    got%owner = list%owner
    call c_release(got)
    list%owner = c_null_ptr
    nullify(list%events)
  end subroutine

  ! --- between the languages

  !> Hands a code over, or ends the program if nobody takes it.
  subroutine report(code, status)
    integer(c_int), intent(in) :: code
    integer(c_int), intent(out), optional :: status
    if (present(status)) then
      status = code
    else if (code /= shoal_ok) then
      write (error_unit, "(a)") "shoal: error: " // shoal_last_error()
      error stop 1
    end if
  end subroutine

  logical function answer(code, status)
    integer(c_int), intent(in) :: code
    integer(c_int), intent(out), optional :: status
    answer = code == 1
    call report(max(-code, shoal_ok), status)
  end function

  integer(c_int) function flag(is_set)
    logical, intent(in), optional :: is_set
    flag = 0
    if (present(is_set)) flag = merge(1, 0, is_set)
  end function

  type(c_ptr) function pointer_or_null(pointer)
    type(c_ptr), intent(in), optional :: pointer
    pointer_or_null = c_null_ptr
    if (present(pointer)) pointer_or_null = pointer
  end function

  !> The dependencies for C; their names stand in `texts`.
  function to_c(needs, texts) result(dependencies)
    type(shoal_dependency), intent(in) :: needs(:)
    type(text_of_c), intent(inout), target :: texts(:)
    type(c_dependency) :: dependencies(size(needs))
    integer :: i
    do i = 1, size(needs)
      texts(i)%text = needs(i)%name // c_null_char
      dependencies(i) = c_dependency(needs(i)%source, c_loc(texts(i)%text))
    end do
  end function

  function from_c(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(pointer, letters, [c_strlen(pointer)])
    allocate(character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  subroutine take(code, got, list)
    integer(c_int), intent(in) :: code
    type(c_list), intent(in) :: got
    type(shoal_event_list), intent(inout) :: list
    if (code /= shoal_ok) return
    list%owner = got%owner
    call c_f_pointer(got%events, list%events, [got%count])
  end subroutine

end module
