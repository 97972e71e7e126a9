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
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private

  integer(c_int), parameter, public :: shoal_ok = 0, shoal_error_use = 1, shoal_error_task = 2, &
    shoal_error_stuck = 3, shoal_error_cancelled = 4, shoal_error_other = 5
  !> Where an event comes from, or goes: a rank, or one of these.
  integer(c_int), parameter, public :: shoal_all = -1, shoal_any = -2, shoal_self = -3
  !> What was fired with an event.
  integer(c_int), parameter, public :: shoal_none = 0, shoal_int = 1, shoal_float = 2, &
    shoal_double = 3, shoal_byte = 4, shoal_address = 5, shoal_long = 6, shoal_other = -1

  type, bind(c), public :: shoal_event
    integer(c_int) :: source
    type(c_ptr) :: name
    integer(c_int) :: type
    integer(c_size_t) :: count
    type(c_ptr) :: data
  end type

  !> One event that a task needs: shoal_dependency(shoal_any, "name").
  type, public :: shoal_dependency
    integer(c_int) :: source
    character(len=:), allocatable :: name
  end type

  !> What shoal_wait_for() and shoal_retrieve_any() return; ended by shoal_release().
  type, public :: shoal_event_list
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
  public :: shoal_task_function, shoal_main_function

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

  !> shoal_fire(events, target, name [, value] [, persistent] [, status]): the value is a scalar or
  !> an array of default integers, of real(c_float), real(c_double) or integer(c_long), or text.
  interface shoal_fire
    module procedure fire_nothing, fire_int, fire_ints, fire_float, fire_floats, fire_double, &
      fire_doubles, fire_long, fire_longs, fire_text
  end interface

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

  function shoal_last_error() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_last_error())
  end function

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

  ! --- events that nobody has to fire; `number` is for shoal_cancel()

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

  ! --- what an event carries, where it lies: valid as long as the event. Empty for other types.

  function shoal_event_name(event) result(name)
    type(shoal_event), intent(in) :: event
    character(len=:), allocatable :: name
    name = from_c(event%name)
  end function

  function shoal_ints(event) result(values)
    type(shoal_event), intent(in) :: event
    integer(c_int), pointer :: values(:)
    integer(c_size_t) :: count
    count = 0
    if (event%type == shoal_int) count = event%count
    call c_f_pointer(event%data, values, [count])
  end function

  function shoal_floats(event) result(values)
    type(shoal_event), intent(in) :: event
    real(c_float), pointer :: values(:)
    integer(c_size_t) :: count
    count = 0
    if (event%type == shoal_float) count = event%count
    call c_f_pointer(event%data, values, [count])
  end function

  function shoal_doubles(event) result(values)
    type(shoal_event), intent(in) :: event
    real(c_double), pointer :: values(:)
    integer(c_size_t) :: count
    count = 0
    if (event%type == shoal_double) count = event%count
    call c_f_pointer(event%data, values, [count])
  end function

  function shoal_longs(event) result(values)
    type(shoal_event), intent(in) :: event
    integer(c_long), pointer :: values(:)
    integer(c_size_t) :: count
    count = 0
    if (event%type == shoal_long) count = event%count
    call c_f_pointer(event%data, values, [count])
  end function

  function shoal_text(event) result(text)
    type(shoal_event), intent(in) :: event
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    if (event%type /= shoal_byte .or. event%count == 0) then
      text = ""
      return
    end if
    call c_f_pointer(event%data, letters, [event%count])
    allocate(character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

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
