! A region of interest: with --trace FILE --trace-paused, only its events are recorded. Run by
! tests/suites/trace_runs.py.
module region_main
  use, intrinsic :: iso_c_binding
  use shoal_events
  use shoal_trace
  implicit none

contains

  integer(c_int) function main_function(world, user) bind(c)
    type(c_ptr), value :: world, user
    logical :: before, inside, after
    integer(c_int64_t) :: span
    if (c_associated(user)) error stop 1
    before = shoal_trace_on()
    call shoal_trace_mark("before the region")
    call shoal_trace_resume()
    inside = shoal_trace_on()
    span = shoal_trace_begin("panel")
    call shoal_trace_counter("residual", 0.25_c_double)
    call shoal_trace_mark("in the region", 42_c_int64_t)
    call shoal_trace_end(span)
    call shoal_trace_pause()
    after = shoal_trace_on()
    call shoal_trace_mark("after the region")
    call shoal_wait(world, main_function)
    print "(a, 3(1x, l1))", "recorded:", before, inside, after
  end function
end module

program region
  use region_main
  implicit none
  if (shoal_run(main_function) /= 0) error stop 1
end program
