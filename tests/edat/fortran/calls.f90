! A program in Fortran for EDAT: each call of the module.
! processes: 1 2 4
! output: typed: 7 8 0.25 123456789012 text of Fortran nothing
! output: named: T F, removed: T F
! output: greedy: 6
! output: locks: F T F
! output 1: sum: 10
! output 2: sum: 21
! output 4: sum: 46
program calls
  use edat
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int), target :: pair(2) = [7, 8], one
  real(c_double), target :: quarter = 0.25_c_double
  integer(c_long), target :: large = 123456789012_c_long
  character(kind=c_char), target :: text(15) = &
    ["t", "e", "x", "t", " ", "o", "f", " ", "F", "o", "r", "t", "r", "a", "n"]
  type(c_ptr), target :: keys(1), values(1)
  integer :: greedy_events = 0, last, i
  logical :: was_there

  keys(1) = c_loc(as_c("EDAT_NUM_WORKERS"))
  values(1) = c_loc(as_c("2"))
  call init_with(1, keys(1), values(1))
  last = get_num_ranks() - 1

  call lock_comms()
  call unlock_comms()
  if (get_rank() == 0) then
    call submit(typed, [last, last, last, last, edat_self], "ints double long text none")
    call submit(sums, [edat_all], "value")
    call submit(nothing, [edat_any], "never", name="once")
    call submit(counts, [edat_any], "many", persistent=.true., greedy=.true., name="greedy")
    was_there = is_submitted("once")
    print "(a,l1,1x,l1,a,l1,1x,l1)", "named: ", was_there, is_submitted("twice"), ", removed: ", &
      remove("once"), remove("once")
    call submit(locks, [integer ::], "")
    one = 1
    do i = 1, 6
      call fire(c_loc(one), edat_int, 1, edat_self, as_c("many"))
    end do
    call fire(c_null_ptr, edat_none, 0, edat_self, as_c("none"))
  end if
  if (get_rank() == last) then
    call fire(c_loc(text), edat_byte, size(text), 0, as_c("text"))
    call fire_persistent(c_loc(large), edat_long, 1, 0, as_c("long"))
    call fire(c_loc(quarter), edat_double, 1, 0, as_c("double"))
    call fire(c_loc(pair), edat_int, 2, 0, as_c("ints"))
    pair = 0
  end if
  one = 10 + get_rank()
  call fire(c_loc(one), edat_int, 1, 0, as_c("value"))
  call finalise()
  if (get_rank() == 0) print "(a,i0)", "greedy: ", greedy_events

contains

  recursive subroutine typed(events, number_events)
    type(c_ptr), intent(in), target :: events
    integer(c_int), value, intent(in) :: number_events
    integer, pointer :: ints(:)
    real(c_double), pointer :: doubles(:)
    integer(c_long), pointer :: longs(:)
    ints => ints_of(events, number_events, 1)
    doubles => doubles_of(events, number_events, 2)
    longs => longs_of(events, number_events, 3)
    if (number_events /= 5 .or. id_of(events, number_events, 5) /= "none") return
    print "(a,i0,1x,i0,1x,f4.2,1x,i0,1x,a,a)", "typed: ", ints, doubles(1), longs(1), &
      text_of(events, number_events, 4), " nothing"
  end subroutine

  recursive subroutine sums(events, number_events)
    type(c_ptr), intent(in), target :: events
    integer(c_int), value, intent(in) :: number_events
    integer, pointer :: ints(:)
    integer :: total, k
    total = 0
    do k = 1, number_events
      ints => ints_of(events, number_events, k)
      total = total + ints(1)
    end do
    print "(a,i0)", "sum: ", total
  end subroutine

  recursive subroutine counts(events, number_events)
    type(c_ptr), intent(in), target :: events
    integer(c_int), value, intent(in) :: number_events
    greedy_events = greedy_events + number_events
  end subroutine

  recursive subroutine locks(events, number_events)
    type(c_ptr), intent(in), target :: events
    integer(c_int), value, intent(in) :: number_events
    logical :: before, during
    before = test_lock("a lock")
    call lock("a lock")
    during = test_lock("a lock")
    call unlock("a lock")
    print "(a,l1,1x,l1,1x,l1)", "locks: ", before, during, test_lock("a lock")
  end subroutine

  recursive subroutine nothing(events, number_events)
    type(c_ptr), intent(in), target :: events
    integer(c_int), value, intent(in) :: number_events
  end subroutine

end program calls
