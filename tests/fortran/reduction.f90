! processes: 1 2 4
! output: typed: 7 8, 1.50, 0.25, 123456789012, "text of Fortran", no value
! output: waited: 5, locks: T F, persistent: 98
! output: refused: shoal_event_check: event "floats" from rank 0 was fired with float, not with int
! output: refused: shoal_event_check: event "nothing" from rank 0 was fired with nothing, not with bytes
! output: refused: shoal_events_fire: events 'fortran': "a" cannot be fired to any: name a rank, or shoal::self, or shoal::all
! output 1: sum 1 on rank 0
! output 2: sum 3 on rank 0
! output 2: sum 3 on rank 1
! output 4: sum 10 on rank 0
! output 4: sum 10 on rank 1
! output 4: sum 10 on rank 2
! output 4: sum 10 on rank 3
!
! A reduction with events, and the other calls of the module.
module reduction_tasks
  use, intrinsic :: iso_c_binding
  use shoal_events
  implicit none

  type :: state
    type(c_ptr) :: events
    integer(c_int) :: rank
    integer :: checked = 0
  end type

contains

  recursive integer(c_int) function add_up(events, count, user) bind(c)
    integer(c_size_t), value :: count
    type(shoal_event), intent(in) :: events(count)
    type(c_ptr), value :: user
    type(state), pointer :: self
    integer :: i
    integer(c_int) :: total
    integer(c_int), pointer :: part(:)
    call c_f_pointer(user, self)
    total = 0
    do i = 1, int(count)
      part => shoal_ints(events(i))
      total = total + part(1)
    end do
    call shoal_fire(self%events, shoal_all, "sum", total)
    add_up = 0
  end function

  recursive integer(c_int) function print_sum(events, count, user) bind(c)
    integer(c_size_t), value :: count
    type(shoal_event), intent(in) :: events(count)
    type(c_ptr), value :: user
    type(state), pointer :: self
    call c_f_pointer(user, self)
    print "(a, i0, a, i0)", "sum ", shoal_ints(events(1)), " on rank ", self%rank
    print_sum = 0
  end function

  recursive integer(c_int) function typed(events, count, user) bind(c)
    integer(c_size_t), value :: count
    type(shoal_event), intent(in) :: events(count)
    type(c_ptr), value :: user
    integer(c_int) :: status
    typed = 1
    if (.not. c_associated(events(6)%data, user)) return
    if (shoal_event_name(events(5)) /= "text") return
    if (size(shoal_ints(events(2), status)) /= 0 .or. status /= shoal_error_use) return
    print "(2a)", "refused: ", shoal_last_error()
    if (len(shoal_text(events(7), status)) /= 0 .or. status /= shoal_error_use) return
    print "(2a)", "refused: ", shoal_last_error()
    if (size(shoal_longs(events(4), status)) /= 1 .or. status /= shoal_ok) return
    if (events(7)%type /= shoal_none .or. c_associated(events(7)%data)) return
    print "(a, i0, 1x, i0, a, f4.2, a, f4.2, a, i0, 3a)", "typed: ", shoal_ints(events(1)), ", ", &
      shoal_floats(events(2)), ", ", shoal_doubles(events(3)), ", ", shoal_longs(events(4)), &
      ", """, shoal_text(events(5)), """, no value"
    typed = 0
  end function

  recursive integer(c_int) function waits(events, count, user) bind(c)
    integer(c_size_t), value :: count
    type(shoal_event), intent(in) :: events(count)
    type(c_ptr), value :: user
    type(state), pointer :: self
    type(shoal_event_list) :: list, kept
    integer(c_int) :: status
    logical :: first, second
    call c_f_pointer(user, self)
    waits = 1
    call shoal_lock(self%events, "held")
    first = shoal_test_lock(self%events, "free")
    second = shoal_test_lock(self%events, "free", status)
    call shoal_unlock(self%events, "free")
    call shoal_retrieve_any(self%events, [shoal_dependency(shoal_any, "not there")], list)
    if (size(list%events) /= 0) return
    call shoal_release(list)
    call shoal_fire(self%events, shoal_self, "kept", 98_c_int, persistent=.true.)
    call shoal_fire(self%events, shoal_self, "go")
    call shoal_wait_for(self%events, [shoal_dependency(shoal_self, "later")], list)
    call shoal_retrieve_any(self%events, [shoal_dependency(shoal_any, "kept")], kept)
    print "(a, i0, a, 2(l1, a), i0)", "waited: ", shoal_ints(list%events(1)), ", locks: ", first, &
      " ", second, ", persistent: ", shoal_ints(kept%events(1))
    call shoal_release(list)
    call shoal_release(kept)
    waits = 0
  end function

  recursive integer(c_int) function answers(events, count, user) bind(c)
    integer(c_size_t), value :: count
    type(shoal_event), intent(in) :: events(count)
    type(c_ptr), value :: user
    type(state), pointer :: self
    call c_f_pointer(user, self)
    call shoal_fire(self%events, shoal_self, "later", 5_c_int)
    answers = 0
  end function

  recursive integer(c_int) function answered(events, count, user) bind(c)
    integer(c_size_t), value :: count
    type(shoal_event), intent(in) :: events(count)
    type(c_ptr), value :: user
    answered = merge(0, 1, count == 1 .and. .not. c_associated(user))
  end function

  subroutine other_calls(self)
    type(state), intent(inout), target :: self
    type(shoal_dependency) :: none(0)
    integer(c_int) :: status, context_type
    integer(c_long_long) :: number
    type(c_ptr) :: context
    character(len=:), allocatable :: text
    call shoal_submit(self%events, typed, [shoal_dependency(0, "ints"), &
      shoal_dependency(0, "floats"), shoal_dependency(0, "doubles"), shoal_dependency(0, "longs"), &
      shoal_dependency(0, "text"), shoal_dependency(shoal_self, "address"), &
      shoal_dependency(0, "nothing")], user=c_loc(self), name="typed", priority=1)
    call shoal_fire(self%events, 0, "ints", [7_c_int, 8_c_int])
    call shoal_fire(self%events, 0, "floats", 1.5_c_float)
    call shoal_fire(self%events, 0, "doubles", [0.25_c_double])
    call shoal_fire(self%events, 0, "longs", 123456789012_c_long)
    call shoal_fire(self%events, 0, "text", "text of Fortran")
    call shoal_fire_address(self%events, shoal_self, "address", c_loc(self))
    call shoal_fire(self%events, 0, "nothing")

    call shoal_submit(self%events, answers, [shoal_dependency(shoal_self, "go")], c_loc(self))
    call shoal_submit(self%events, waits, none, c_loc(self))

    call shoal_submit(self%events, answered, [shoal_dependency(shoal_self, "time")])
    call shoal_fire_after(self%events, 1000_c_long_long, shoal_self, "time")
    call shoal_fire_after(self%events, huge(0_c_int) * 1000_c_long_long, shoal_self, "late", number)
    if (.not. shoal_cancel(self%events, number)) error stop "cancel"
    call shoal_fire_when_readable(self%events, -1_c_int, shoal_self, "none", status=status)
    if (status == shoal_ok) error stop "readable"
    call shoal_fire_on_signal(self%events, -1_c_int, shoal_self, "none", status=status)
    if (status == shoal_ok) error stop "signal"
    call shoal_fire_when_memory_above(self%events, 1_c_size_t, shoal_any, "none", status=status)
    if (status == shoal_ok) error stop "memory"

    context_type = shoal_define_context(self%events, 100_c_size_t)
    context = shoal_create_context(self%events, context_type)
    call shoal_submit(self%events, answers, [shoal_dependency(shoal_any, "never")], c_loc(self), &
      name="named", persistent=.true., greedy=.true.)
    if (.not. shoal_is_submitted(self%events, "named")) error stop "named"
    if (.not. shoal_remove(self%events, "named")) error stop "remove"
    if (shoal_remove(self%events, "named")) error stop "removed twice"
    call shoal_fire(self%events, shoal_any, "a", status=status)
    if (status /= shoal_error_use) error stop "not refused"
    text = shoal_last_error()
    print "(2a)", "refused: ", text
  end subroutine

  integer(c_int) function main_function(world, user) bind(c)
    type(c_ptr), value :: world, user
    type(state), target :: self
    integer(c_int) :: status
    self%rank = shoal_rank(world)
    self%events = shoal_make_events(world, "fortran")
    if (self%rank == 0) then
      call shoal_submit(self%events, add_up, [shoal_dependency(shoal_all, "part")], c_loc(self))
    end if
    call shoal_submit(self%events, print_sum, [shoal_dependency(0, "sum")], c_loc(self))
    call shoal_fire(self%events, 0, "part", self%rank + 1_c_int)
    if (self%rank == 0) call other_calls(self)
    call shoal_wait(world, status)
    main_function = status
    if (shoal_size(world) < 1 .or. c_associated(user)) main_function = 1
  end function
end module

program reduction
  use reduction_tasks
  use shoal_trace
  implicit none
  integer(c_int) :: exit_code
  integer(c_int64_t) :: span
  span = shoal_trace_begin("reduction")
  call shoal_trace_mark("before")
  call shoal_trace_counter("reductions", 1.0_c_double)
  exit_code = shoal_run(main_function)
  call shoal_trace_end(span)
  if (exit_code /= 0) error stop 1
  if (shoal_trace_on() .or. span /= 0) error stop 2 ! nothing is recorded
end program
