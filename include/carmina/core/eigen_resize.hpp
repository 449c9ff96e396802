// core/eigen_resize.hpp -- matrices that survive being resized when there is no memory.
//
// Eigen 3.4 frees the old numbers, asks for the new ones, and keeps the old address when that throws bad_alloc: the
// matrix then frees them a second time. These members of its storage, for the kinds of matrices used here, let go of
// the address first.
#pragma once
#include <Eigen/Core>

#if EIGEN_VERSION_AT_LEAST(3, 4, 0) && !EIGEN_VERSION_AT_LEAST(3, 4, 90)

namespace Eigen {  // NOLINTBEGIN(bugprone-macro-parentheses): types and statements

#define CARMINA_RESIZE(T, Rows, Columns, Options, sizes, of_empty, set_sizes)                                    \
  template <>                                                                                                    \
  inline void DenseStorage<T, Dynamic, Rows, Columns, Options>::resize(Index size, Index rows, Index columns) {  \
    if (size != (sizes)) {                                                                                       \
      internal::conditional_aligned_delete_auto<T, (Options & DontAlign) == 0>(m_data,                           \
                                                                               static_cast<std::size_t>(sizes)); \
      m_data = nullptr;                                                                                          \
      of_empty;                                                                                                  \
      if (size > 0)                                                                                              \
        m_data = internal::conditional_aligned_new_auto < T,                                                     \
        (Options & DontAlign) == 0 > (static_cast<std::size_t>(size));                                           \
    }                                                                                                            \
    static_cast<void>(rows), static_cast<void>(columns);                                                         \
    set_sizes;                                                                                                   \
  }
#define CARMINA_RESIZE_OF(T)                                                         \
  CARMINA_RESIZE(T, Dynamic, Dynamic, RowMajor, m_rows* m_cols, m_rows = m_cols = 0, \
                 (m_rows = rows, m_cols = columns))                                  \
  CARMINA_RESIZE(T, Dynamic, Dynamic, ColMajor, m_rows* m_cols, m_rows = m_cols = 0, \
                 (m_rows = rows, m_cols = columns))                                  \
  CARMINA_RESIZE(T, Dynamic, 1, ColMajor, m_rows, m_rows = 0, m_rows = rows)         \
  CARMINA_RESIZE(T, 1, Dynamic, RowMajor, m_cols, m_cols = 0, m_cols = columns)

CARMINA_RESIZE_OF(double)
CARMINA_RESIZE_OF(float)
CARMINA_RESIZE_OF(bool)
CARMINA_RESIZE_OF(int)
#undef CARMINA_RESIZE_OF
#undef CARMINA_RESIZE  // NOLINTEND(bugprone-macro-parentheses)

}  // namespace Eigen

#endif
