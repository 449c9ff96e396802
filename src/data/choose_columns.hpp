// data/choose_columns.hpp -- columns of a table by their names.
#pragma once
#include <carmina/data/rows.hpp>

#include <string_view>

namespace carmina {

// Names separated by commas; one that holds a comma stands alone. Error, with the nearest name, for one that is not
// there, or is named twice; `what` they are: "target".
std::vector<Index> columns_by_name(std::string_view names, const std::vector<Column>& columns, const std::string& file,
                                   const char* what);

}  // namespace carmina
