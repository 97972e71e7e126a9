!> Tasks and events for Fortran: the calls of <shoal/event.h>, with arrays and text of Fortran.
!>
!> Procedures take an optional `status`: one of the codes shoal_ok, shoal_error_...; then
!> shoal_last_error() says what was wrong. Without `status`, an error ends the program with that
!> text.
!>
!> A task is a function of this form; it must be recursive (as all procedures are from Fortran 2018
!> on), because several tasks may run at the same time:
!>
!>     recursive integer(c_int) function task(events, count, user) bind(c)
!>       integer(c_size_t), value :: count
!>       type(shoal_event), intent(in) :: events(count)
!>       type(c_ptr), value :: user
module shoal_events
  use, intrinsic :: iso_c_binding
  use shoal_events_c
  use shoal_events_firing
  implicit none
  private

  public :: shoal_ok, shoal_error_use, shoal_error_task, shoal_error_stuck, shoal_error_cancelled
  public :: shoal_error_other, shoal_all, shoal_any, shoal_self, shoal_none, shoal_int, shoal_float
  public :: shoal_double, shoal_byte, shoal_address, shoal_long, shoal_other
  public :: shoal_event, shoal_dependency, shoal_event_list
  public :: shoal_task_function, shoal_main_function
  public :: shoal_run, shoal_rank, shoal_size, shoal_wait, shoal_last_error
  public :: shoal_make_events, shoal_free_events, shoal_submit, shoal_is_submitted, shoal_remove
  public :: shoal_fire, shoal_fire_address, shoal_wait_for, shoal_retrieve_any, shoal_release
  public :: shoal_fire_after, shoal_fire_when_readable, shoal_fire_on_signal
  public :: shoal_fire_when_memory_above, shoal_cancel
  public :: shoal_lock, shoal_unlock, shoal_test_lock
  public :: shoal_define_context, shoal_create_context
  public :: shoal_event_name, shoal_ints, shoal_floats, shoal_doubles, shoal_longs, shoal_text

contains

  ! --- the world

  !> Runs `main_function` on every rank, with the arguments of the command line; returns the exit
  !> code.
  function shoal_run(main_function, user) result(exit_code)
    procedure(shoal_main_function) :: main_function
    type(c_ptr), intent(in), optional :: user
    integer(c_int) :: exit_code
    type(text_of_c), allocatable, target :: texts(:)
    type(c_ptr), allocatable :: argv(:)
    integer :: count, i, length
    count = command_argument_count() + 1
    allocate(texts(count), argv(count + 1))
    do i = 1, count
      call get_command_argument(i - 1, length=length)
      allocate(character(kind=c_char, len=length + 1) :: texts(i)%text)
      call get_command_argument(i - 1, texts(i)%text)
      texts(i)%text(length + 1:) = c_null_char
      argv(i) = c_loc(texts(i)%text)
    end do
    argv(count + 1) = c_null_ptr
    exit_code = c_run(int(count, c_int), argv, c_funloc(main_function), pointer_or_null(user))
  end function

  integer(c_int) function shoal_rank(world)
    type(c_ptr), intent(in) :: world
    shoal_rank = c_rank(world)
  end function

  integer(c_int) function shoal_size(world)
    type(c_ptr), intent(in) :: world
    shoal_size = c_size(world)
  end function

  !> Returns when, on all ranks, tasks have run and events have been consumed.
  subroutine shoal_wait(world, status)
    type(c_ptr), intent(in) :: world
    integer(c_int), intent(out), optional :: status
    call report(c_wait(world), status)
  end subroutine

  ! --- tasks

  function shoal_make_events(world, name) result(events)
    type(c_ptr), intent(in) :: world
    character(len=*), intent(in) :: name
    type(c_ptr) :: events
    events = c_make(world, name // c_null_char)
    if (.not. c_associated(events)) call report(shoal_error_use)
  end function

  subroutine shoal_free_events(events, status)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(out), optional :: status
    call report(c_free(events), status)
  end subroutine

  !> Runs `task` once `needs` are met; `user` is passed on.
  subroutine shoal_submit(events, task, needs, user, name, persistent, greedy, priority, status)
    type(c_ptr), intent(in) :: events
    procedure(shoal_task_function) :: task
    type(shoal_dependency), intent(in) :: needs(:)
    type(c_ptr), intent(in), optional :: user
    character(len=*), intent(in), optional :: name
    logical, intent(in), optional :: persistent, greedy
    integer, intent(in), optional :: priority
    integer(c_int), intent(out), optional :: status
    type(text_of_c), target :: texts(size(needs))
    character(kind=c_char, len=:), allocatable, target :: task_name
    type(c_task) :: what
    what%function = c_funloc(task)
    what%user = pointer_or_null(user)
    what%name = c_null_ptr
    if (present(name)) then
      task_name = name // c_null_char
      what%name = c_loc(task_name)
    end if
    what%persistent = flag(persistent)
    what%greedy = flag(greedy)
    what%priority = 0
    if (present(priority)) what%priority = int(priority, c_int)
    call report(c_submit(events, what, to_c(needs, texts), size(needs, kind=c_size_t)), status)
  end subroutine

  logical function shoal_is_submitted(events, name, status)
    type(c_ptr), intent(in) :: events
    character(len=*), intent(in) :: name
    integer(c_int), intent(out), optional :: status
    shoal_is_submitted = answer(c_is_submitted(events, name // c_null_char), status)
  end function

  !> Whether there was such a task.
  logical function shoal_remove(events, name, status)
    type(c_ptr), intent(in) :: events
    character(len=*), intent(in) :: name
    integer(c_int), intent(out), optional :: status
    shoal_remove = answer(c_remove(events, name // c_null_char), status)
  end function

  !> Parks the task until the events are there.
  subroutine shoal_wait_for(events, needs, list, status)
    type(c_ptr), intent(in) :: events
    type(shoal_dependency), intent(in) :: needs(:)
    type(shoal_event_list), intent(out) :: list
    integer(c_int), intent(out), optional :: status
    type(text_of_c), target :: texts(size(needs))
    type(c_list) :: got
    integer(c_int) :: code
    code = c_wait_for(events, to_c(needs, texts), size(needs, kind=c_size_t), got)
    call take(code, got, list)
    call report(code, status)
  end subroutine

  !> The first event that is there for each dependency, if there is one.
  subroutine shoal_retrieve_any(events, needs, list, status)
    type(c_ptr), intent(in) :: events
    type(shoal_dependency), intent(in) :: needs(:)
    type(shoal_event_list), intent(out) :: list
    integer(c_int), intent(out), optional :: status
    type(text_of_c), target :: texts(size(needs))
    type(c_list) :: got
    integer(c_int) :: code
    code = c_retrieve_any(events, to_c(needs, texts), size(needs, kind=c_size_t), got)
    call take(code, got, list)
    call report(code, status)
  end subroutine

  ! --- locks

  subroutine shoal_lock(events, name, status)
    type(c_ptr), intent(in) :: events
    character(len=*), intent(in) :: name
    integer(c_int), intent(out), optional :: status
    call report(c_lock(events, name // c_null_char), status)
  end subroutine

  subroutine shoal_unlock(events, name, status)
    type(c_ptr), intent(in) :: events
    character(len=*), intent(in) :: name
    integer(c_int), intent(out), optional :: status
    call report(c_unlock(events, name // c_null_char), status)
  end subroutine

  !> Whether the lock was free and is the caller's now.
  logical function shoal_test_lock(events, name, status)
    type(c_ptr), intent(in) :: events
    character(len=*), intent(in) :: name
    integer(c_int), intent(out), optional :: status
    shoal_test_lock = answer(c_test_lock(events, name // c_null_char), status)
  end function

  ! --- contexts

  integer(c_int) function shoal_define_context(events, size_bytes)
    type(c_ptr), intent(in) :: events
    integer(c_size_t), intent(in) :: size_bytes
    shoal_define_context = c_define_context(events, size_bytes)
    if (shoal_define_context < 0) call report(-shoal_define_context)
  end function

  function shoal_create_context(events, type) result(address)
    type(c_ptr), intent(in) :: events
    integer(c_int), intent(in) :: type
    type(c_ptr) :: address
    address = c_create_context(events, type)
    if (.not. c_associated(address)) call report(shoal_error_use)
  end function

  ! --- what an event carries, where it lies: valid as long as the event. An event of another type
  ! is an error: the status is shoal_error_use then, and the result empty.

  function shoal_event_name(event) result(name)
    type(shoal_event), intent(in) :: event
    character(len=:), allocatable :: name
    name = from_c(event%name)
  end function

  function shoal_ints(event, status) result(values)
    type(shoal_event), intent(in) :: event
    integer(c_int), intent(out), optional :: status
    integer(c_int), pointer :: values(:)
    call c_f_pointer(event%data, values, [count_of(event, shoal_int, status)])
  end function

  function shoal_floats(event, status) result(values)
    type(shoal_event), intent(in) :: event
    integer(c_int), intent(out), optional :: status
    real(c_float), pointer :: values(:)
    call c_f_pointer(event%data, values, [count_of(event, shoal_float, status)])
  end function

  function shoal_doubles(event, status) result(values)
    type(shoal_event), intent(in) :: event
    integer(c_int), intent(out), optional :: status
    real(c_double), pointer :: values(:)
    call c_f_pointer(event%data, values, [count_of(event, shoal_double, status)])
  end function

  function shoal_longs(event, status) result(values)
    type(shoal_event), intent(in) :: event
    integer(c_int), intent(out), optional :: status
    integer(c_long), pointer :: values(:)
    call c_f_pointer(event%data, values, [count_of(event, shoal_long, status)])
  end function

  function shoal_text(event, status) result(text)
    type(shoal_event), intent(in) :: event
    integer(c_int), intent(out), optional :: status
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(event%data, letters, [count_of(event, shoal_byte, status)])
    allocate(character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  !> Number of elements, which are of this type.
  function count_of(event, type, status) result(count)
    type(shoal_event), intent(in) :: event
    integer(c_int), intent(in) :: type
    integer(c_int), intent(out), optional :: status
    integer(c_size_t) :: count
    integer(c_int) :: code
    code = c_event_check(event, type)
    count = 0
    if (code == shoal_ok) count = event%count
    call report(code, status)
  end function

end module
