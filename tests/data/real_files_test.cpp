// tests/data/real_files_test.cpp -- well-known files, when the folder CARMINA_DATA holds them: sizes and missing
// cells as published.
#include <cstdlib>

#include "table_checks.hpp"

namespace carmina::testing {

struct RealFile {
  const char* name;
  Index rows, columns, missing;
};
void PrintTo(const RealFile& file, std::ostream* out) { *out << file.name; }

class RealFiles : public ::testing::TestWithParam<RealFile> {};
INSTANTIATE_TEST_SUITE_P(Known, RealFiles,
                         ::testing::Values(RealFile{"mulan_rf1/rf1-train.arff.gz", 4108, 72, 1632},
                                           RealFile{"mulan_rf2/rf2.arff.gz", 9125, 584, 356'160},
                                           RealFile{"mulan_scm1d/scm1d-train.arff.gz", 8145, 296, 15'280},
                                           RealFile{"mulan_scm20d/scm20d-test.arff.gz", 1503, 77, 0},
                                           RealFile{"mnist/t10k-images-idx3-ubyte.gz", 10'000, 784, 0},
                                           RealFile{"mnist/t10k-labels-idx1-ubyte.gz", 10'000, 1, 0}));

TEST_P(RealFiles, HaveTheirPublishedSizes) {
  const char* folder = std::getenv("CARMINA_DATA");
  if (folder == nullptr) GTEST_SKIP() << "CARMINA_DATA is not set";
  const RealFile& file = GetParam();
  const std::string path = std::string(folder) + "/" + file.name;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Table table = read_table(path);
  EXPECT_EQ(table.values.rows(), file.rows);
  EXPECT_EQ(table.values.cols(), file.columns);
  EXPECT_EQ(table.values.array().isNaN().count(), file.missing);
}

}  // namespace carmina::testing
