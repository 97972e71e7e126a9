! A module that calls the library as EDAT's own Fortran module does: the same names, arguments and
! ways to pass them. It has what calls.f90 needs.
module edat
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: edat_int, edat_long, edat_double, edat_byte, edat_none, edat_all, edat_any, edat_self
  public :: event_of_c, as_c, init, init_with, finalise, get_rank, get_num_ranks, fire, &
    fire_persistent, submit, is_submitted, remove, lock, unlock, test_lock, lock_comms, &
    unlock_comms, init_on, ints_of, longs_of, doubles_of, text_of, id_of

  integer, parameter :: edat_none = 0, edat_int = 1, edat_double = 3, edat_byte = 4, edat_long = 6
  integer, parameter :: edat_all = -1, edat_any = -2, edat_self = -3

  type, bind(c) :: metadata_of_c
    integer(c_int) :: data_type, number_elements, source
    type(c_ptr) :: event_id
  end type

  type, bind(c) :: event_of_c
    type(c_ptr) :: data
    type(metadata_of_c) :: metadata
  end type

  abstract interface
    subroutine task_of_fortran(events, number_events)
      import :: c_int, c_ptr
      type(c_ptr), intent(in), target :: events
      integer(c_int), value, intent(in) :: number_events
    end subroutine
  end interface

  interface
    subroutine init() bind(C, name="edatInit")
    end subroutine
    subroutine init_with(count, keys, values) bind(C, name="edatInitWithConfiguration")
      import :: c_int, c_ptr
      integer(c_int), value :: count
      type(c_ptr) :: keys, values
    end subroutine
    subroutine init_on(communicator) bind(C, name="edatInitialiseWithCommunicator")
      import :: c_int
      integer(c_int), value :: communicator
    end subroutine
    subroutine finalise() bind(C, name="edatFinalise")
    end subroutine
    integer(c_int) function get_rank() bind(C, name="edatGetRank")
      import :: c_int
    end function
    integer(c_int) function get_num_ranks() bind(C, name="edatGetNumRanks")
      import :: c_int
    end function
    subroutine fire(data, data_type, count, target, event_id) bind(C, name="edatFireEvent")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: data
      integer(c_int), value :: data_type, count, target
      character(c_char) :: event_id(*)
    end subroutine
    subroutine fire_persistent(data, data_type, count, target, event_id) &
      bind(C, name="edatFirePersistentEvent")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: data
      integer(c_int), value :: data_type, count, target
      character(c_char) :: event_id(*)
    end subroutine
    ! An array of assumed shape: the library gets a descriptor.
    subroutine submit_c(task, name, count, sources, event_ids, persistent, greedy) &
      bind(C, name="edatSubmitTask_f")
      import :: c_int, c_ptr, c_funptr, c_bool
      type(c_funptr), value :: task
      type(c_ptr), value :: name
      integer(c_int), value :: count
      integer(c_int) :: sources(:)
      type(c_ptr), value :: event_ids
      logical(c_bool), value :: persistent, greedy
    end subroutine
    integer(c_int) function is_submitted_c(name) bind(C, name="edatIsTaskSubmitted")
      import :: c_int, c_ptr
      type(c_ptr), value :: name
    end function
    integer(c_int) function remove_c(name) bind(C, name="edatRemoveTask")
      import :: c_int, c_ptr
      type(c_ptr), value :: name
    end function
    subroutine lock_c(name) bind(C, name="edatLock")
      import :: c_ptr
      type(c_ptr), value :: name
    end subroutine
    subroutine unlock_c(name) bind(C, name="edatUnlock")
      import :: c_ptr
      type(c_ptr), value :: name
    end subroutine
    integer(c_int) function test_lock_c(name) bind(C, name="edatTestLock")
      import :: c_int, c_ptr
      type(c_ptr), value :: name
    end function
    subroutine lock_comms() bind(C, name="edatLockComms")
    end subroutine
    subroutine unlock_comms() bind(C, name="edatUnlockComms")
    end subroutine
    integer(c_size_t) function strlen(text) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

contains

  function as_c(text) result(copy)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), pointer :: copy
    allocate (character(kind=c_char, len=len(text) + 1) :: copy)
    copy = text // c_null_char
  end function

  ! `ids` are the identifiers, separated by blanks.
  subroutine submit(task, sources, ids, name, persistent, greedy)
    procedure(task_of_fortran) :: task
    integer, intent(in) :: sources(:)
    character(len=*), intent(in) :: ids
    character(len=*), intent(in), optional :: name
    logical, intent(in), optional :: persistent, greedy
    integer(c_int), allocatable :: all_sources(:)
    type(c_ptr), allocatable, target :: all_ids(:)
    character(kind=c_char, len=:), pointer :: text
    logical(c_bool) :: is_persistent, is_greedy
    type(c_ptr) :: name_of_c
    integer :: i, begin, behind
    allocate (all_sources(size(sources)), all_ids(size(sources)))
    all_sources = sources
    begin = 1
    do i = 1, size(sources)
      behind = begin + index(ids(begin:) // " ", " ") - 1
      text => as_c(ids(begin:behind - 1))
      all_ids(i) = c_loc(text)
      begin = behind + 1
    end do
    name_of_c = c_null_ptr
    if (present(name)) then
      text => as_c(name)
      name_of_c = c_loc(text)
    end if
    is_persistent = .false.
    is_greedy = .false.
    if (present(persistent)) is_persistent = persistent
    if (present(greedy)) is_greedy = greedy
    call submit_c(c_funloc(task), name_of_c, size(sources), all_sources, c_loc(all_ids), &
      is_persistent, is_greedy)
  end subroutine

  logical function is_submitted(name)
    character(len=*), intent(in) :: name
    is_submitted = is_submitted_c(c_loc(as_c(name))) == 1
  end function

  logical function remove(name)
    character(len=*), intent(in) :: name
    remove = remove_c(c_loc(as_c(name))) == 1
  end function

  subroutine lock(name)
    character(len=*), intent(in) :: name
    call lock_c(c_loc(as_c(name)))
  end subroutine

  subroutine unlock(name)
    character(len=*), intent(in) :: name
    call unlock_c(c_loc(as_c(name)))
  end subroutine

  logical function test_lock(name)
    character(len=*), intent(in) :: name
    test_lock = test_lock_c(c_loc(as_c(name))) == 1
  end function

  function event(events, number_events, i)
    type(c_ptr), intent(in), target :: events
    integer(c_int), intent(in) :: number_events
    integer, intent(in) :: i
    type(event_of_c), pointer :: event
    type(event_of_c), pointer :: all(:)
    call c_f_pointer(c_loc(events), all, [number_events])
    event => all(i)
  end function

  function ints_of(events, number_events, i) result(ints)
    type(c_ptr), intent(in), target :: events
    integer(c_int), intent(in) :: number_events
    integer, intent(in) :: i
    integer, pointer :: ints(:)
    type(event_of_c), pointer :: one
    one => event(events, number_events, i)
    call c_f_pointer(one%data, ints, [one%metadata%number_elements])
  end function

  function longs_of(events, number_events, i) result(longs)
    type(c_ptr), intent(in), target :: events
    integer(c_int), intent(in) :: number_events
    integer, intent(in) :: i
    integer(c_long), pointer :: longs(:)
    type(event_of_c), pointer :: one
    one => event(events, number_events, i)
    call c_f_pointer(one%data, longs, [one%metadata%number_elements])
  end function

  function doubles_of(events, number_events, i) result(doubles)
    type(c_ptr), intent(in), target :: events
    integer(c_int), intent(in) :: number_events
    integer, intent(in) :: i
    real(c_double), pointer :: doubles(:)
    type(event_of_c), pointer :: one
    one => event(events, number_events, i)
    call c_f_pointer(one%data, doubles, [one%metadata%number_elements])
  end function

  function chars(address, length) result(text)
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: length
    character(len=length) :: text
    character(kind=c_char), pointer :: all(:)
    integer :: i
    call c_f_pointer(address, all, [length])
    do i = 1, length
      text(i:i) = all(i)
    end do
  end function

  function text_of(events, number_events, i) result(text)
    type(c_ptr), intent(in), target :: events
    integer(c_int), intent(in) :: number_events
    integer, intent(in) :: i
    character(len=:), allocatable :: text
    type(event_of_c), pointer :: one
    one => event(events, number_events, i)
    text = chars(one%data, one%metadata%number_elements)
  end function

  function id_of(events, number_events, i) result(text)
    type(c_ptr), intent(in), target :: events
    integer(c_int), intent(in) :: number_events
    integer, intent(in) :: i
    character(len=:), allocatable :: text
    type(event_of_c), pointer :: one
    one => event(events, number_events, i)
    text = chars(one%metadata%event_id, int(strlen(one%metadata%event_id)))
  end function

end module edat
