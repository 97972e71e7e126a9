!> Traces of Fortran programs: the calls of <shoal/trace.h>, with text of Fortran.
!>
!>     span = shoal_trace_begin("panel")
!>     ...
!>     call shoal_trace_end(span)
module shoal_trace
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: shoal_trace_begin, shoal_trace_end, shoal_trace_mark, shoal_trace_counter, &
    shoal_trace_on, shoal_trace_resume, shoal_trace_pause

  interface
    function c_begin(name) bind(c, name="shoal_trace_begin") result(span)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t) :: span
    end function
    subroutine c_mark(name, value) bind(c, name="shoal_trace_mark")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: value
    end subroutine
    subroutine c_counter(name, value) bind(c, name="shoal_trace_counter")
      import
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
    end subroutine
    function c_on() bind(c, name="shoal_trace_on") result(on)
      import
      integer(c_int) :: on
    end function
    !> Ends a stretch, perhaps on another thread. 0 is allowed.
    subroutine shoal_trace_end(span) bind(c, name="shoal_trace_end")
      import
      integer(c_int64_t), value :: span
    end subroutine
    !> Region of interest: with --trace-paused, nothing is recorded before shoal_trace_resume().
    subroutine shoal_trace_resume() bind(c, name="shoal_trace_resume")
    end subroutine
    subroutine shoal_trace_pause() bind(c, name="shoal_trace_pause")
    end subroutine
  end interface

contains

  !> Begins a stretch of the program and returns what ends it; 0 while nothing is recorded.
  function shoal_trace_begin(name) result(span)
    character(len=*), intent(in) :: name
    integer(c_int64_t) :: span
    span = c_begin(name // c_null_char)
  end function

  !> A moment of the program, with a number that it chooses (0 if it is absent).
  subroutine shoal_trace_mark(name, value)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in), optional :: value
    integer(c_int64_t) :: number
    number = 0
    if (present(value)) number = value
    call c_mark(name // c_null_char, number)
  end subroutine

  !> The value that a quantity has from now on.
  subroutine shoal_trace_counter(name, value)
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: value
    call c_counter(name // c_null_char, value)
  end subroutine

  !> Whether spans, marks and counters are recorded.
  function shoal_trace_on() result(on)
    logical :: on
    on = c_on() /= 0
  end function
end module
