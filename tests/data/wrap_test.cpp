// tests/data/wrap_test.cpp -- columns that wrap round, as points of a circle: by hand, in tables, in files, in sources.
#include <carmina/data/input_encoder.hpp>
#include <carmina/models/model_inputs.hpp>

#include <cmath>
#include <limits>
#include <numbers>

#include <support/message_of.hpp>
#include <support/random_matrix.hpp>

#include "table_checks.hpp"

namespace carmina::testing::wrap_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

InputEncoder some_encoder() {
  return InputEncoder({{"lon", ColumnKind::wrapped, {}, 360}, {"x"}, {"hour", ColumnKind::wrapped, {}, 24}},
                      UnseenLevel::error, DateUnit::days);
}

}  // namespace

TEST(Wrap, GivesPointsOfACircle) {
  const InputEncoder encoder = some_encoder();
  EXPECT_EQ(encoder.dim_in(), 5);
  EXPECT_THAT(encoder.encoded_names(), ElementsAre("lon=cos", "lon=sin", "x", "hour=cos", "hour=sin"));
  EXPECT_THAT(encoder.wrapped(), ElementsAre(0, 3));
  EXPECT_FALSE(encoder.only_numbers());
  EXPECT_TRUE(encoder.takes_numbers());
  const Matrix<double> X = 500 * random_matrix(40, 3, 1);
  const Matrix<double> E = encoder.encode<double>(X);
  for (Index i = 0; i < X.rows(); ++i) {
    const double pi = std::numbers::pi;
    EXPECT_NEAR(E(i, 0), 360 / (2 * pi) * std::cos(2 * pi * X(i, 0) / 360), 1e-10);
    EXPECT_NEAR(E(i, 1), 360 / (2 * pi) * std::sin(2 * pi * X(i, 0) / 360), 1e-10);
    EXPECT_EQ(E(i, 2), X(i, 1));
    EXPECT_NEAR(E(i, 3), 24 / (2 * pi) * std::cos(2 * pi * X(i, 2) / 24), 1e-10);
    EXPECT_NEAR(E(i, 4), 24 / (2 * pi) * std::sin(2 * pi * X(i, 2) / 24), 1e-10);
  }
  const Matrix<float> few = encoder.encode<float>(Matrix<float>(X.cast<float>()));
  EXPECT_LT((few.cast<double>() - E).cwiseAbs().maxCoeff(), 1e-3);
}

TEST(Wrap, NearPlacesAreAsFarApartAsTheyWereAndWholePeriodsAreNothing) {
  const InputEncoder encoder = some_encoder();
  const auto place = [&](double lon) {
    Eigen::Vector2d to;
    encoder.put_number(0, lon, to.data());
    return to;
  };
  for (double lon : {0.0, 90.0, 179.999, -180.0, 359.9995}) {
    EXPECT_NEAR((place(lon + 1e-3) - place(lon)).norm(), 1e-3, 1e-10);
    for (double turns : {-1.0, 1.0, 1e6}) {
      EXPECT_LT((place(lon + 360 * turns) - place(lon)).norm(), 1e-6 * std::max(1.0, std::abs(turns)) / 1e3);
    }
  }
  for (const double lon : {0.0, 17.0, 180.0, -180.0, 359.0}) {
    for (const double turns : {-2.0, -1.0, 1.0, 1e9}) EXPECT_EQ(place(lon + 360 * turns), place(lon)) << lon;
  }
  EXPECT_EQ(place(180), place(-180));
  EXPECT_TRUE(place(std::numeric_limits<double>::quiet_NaN()).hasNaN());
  EXPECT_TRUE(std::isinf(place(std::numeric_limits<double>::infinity())[1]));
}

// df / dx along the circle, of f = <a, (c, s)> + b x.
TEST(Wrap, DerivativesAreByTheColumns) {
  const InputEncoder encoder = some_encoder();
  const Matrix<double> X = 10 * random_matrix(8, 3, 2), slopes = random_matrix(1, 10, 3);
  const auto f = [&](const Matrix<double>& rows) -> Matrix<double> {
    const Matrix<double> E = encoder.encode<double>(rows);
    Matrix<double> out(rows.rows(), 2);
    out << E * slopes.leftCols(5).transpose(), E * slopes.rightCols(5).transpose();
    return out;
  };
  const Matrix<double> found = encoder.by_columns(encoder.encode<double>(X), slopes.replicate(8, 1));
  ASSERT_EQ(found.cols(), 6);
  for (Index c = 0; c < 3; ++c) {
    Matrix<double> up = X, down = X;
    up.col(c).array() += 1e-5, down.col(c).array() -= 1e-5;
    const Matrix<double> expected = (f(up) - f(down)) / 2e-5;
    for (Index a = 0; a < 2; ++a) EXPECT_LT((found.col(3 * a + c) - expected.col(a)).cwiseAbs().maxCoeff(), 1e-8);
  }
}

TEST(Wrap, IsInTablesAndInTheModelFile) {
  TempDir dir;
  const auto path =
      dir.file("wrap.csv", "lon,colour,day,y\n350,red,2024-01-01,1\n-10,blue,2024-01-02,2\n,red,2024-01-03,3\n");
  EncodingOptions options;
  options.dates = DateUnit::days;
  options.wrap = {{"lon", 360}};
  auto table = open_table(path);
  ColumnRoles roles{{0, 1, 2}, {3}};
  const auto encoder = encoder_of(*table, roles.inputs, options);
  ASSERT_NE(encoder, nullptr);
  ModelFile file;
  put_encoder(file, *encoder);
  EXPECT_EQ(*get_encoder(file, 5, "m"), *encoder);
  table = encoded_table(std::move(table), roles, encoder);
  EXPECT_THAT(roles.inputs, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(names_of(table->columns()), ElementsAre("lon=cos", "lon=sin", "colour=blue", "colour=red", "day", "y"));
  Matrix<double> rows(5, 6);
  ASSERT_EQ(table->read(rows), 3);
  EXPECT_EQ(rows(0, 0), rows(1, 0));
  EXPECT_EQ(rows(0, 1), rows(1, 1));
  EXPECT_TRUE(std::isnan(rows(2, 0)) && std::isnan(rows(2, 1)));
  EXPECT_EQ(rows(1, 5), 2);
  const auto refused = [&](const char* name, double period) {
    auto again = open_table(path);
    options.wrap = {{name, period}};
    return message_of([&] { encoder_of(*again, {0, 1, 2}, options); });
  };
  EXPECT_THAT(refused("y", 7), HasSubstr("wrap: there is no input 'y'; there is lon, colour, day"));
  EXPECT_THAT(refused("colour", 7), HasSubstr("column 'colour': it has categories, which do not wrap round"));
  EXPECT_THAT(refused("day", 7), HasSubstr("column 'day': it has dates, which do not wrap round"));
  EXPECT_THAT(refused("lon", 0), HasSubstr("the period of 'lon' must be positive and finite, found 0"));
  EXPECT_THAT(refused("lon", std::nan("")), HasSubstr("must be positive and finite"));
}

TEST(Wrap, DescriptionsThatAreNotValidAreRefused) {
  for (const char* about : {R"("wrapped")", R"("wrapped","period":0)", R"("wrapped","period":-3)",
                            R"("number","period":3)", R"("wrapped","period":3,"levels":["a"])"}) {
    ModelFile file;
    file.texts["inputs"] =
        format_text(R"({{"columns":[{{"name":"x","kind":{}}}],"unseen":"error","dates":"days"}})", about);
    EXPECT_THAT(message_of([&] { get_encoder(file, 2, "m.safetensors"); }),
                HasSubstr("m.safetensors: the description of the inputs is not valid"))
        << about;
  }
}

TEST(Wrap, RowsOfAnySourceAreEncoded) {
  const Matrix<double> X = 100 * random_matrix(11, 3, 4), Y = random_matrix(11, 1, 5);
  MemoryRows<double> rows(X, Y);
  const auto encoder = wrapping_encoder(3, {{0, 360}, {2, 24}});
  EncodedRows<double> encoded(rows, encoder);
  EXPECT_EQ(encoded.dim_in(), 5);
  for (int pass = 0; pass < 2; ++pass) {
    Index seen = 0;
    encoded.rewind();
    for (auto block = encoded.next(4); block.rows > 0; block = encoded.next(4)) {
      EXPECT_EQ(block.inputs(), encoder->encode<double>(X.middleRows(seen, block.rows)));
      EXPECT_EQ(block.targets(), Y.middleRows(seen, block.rows));
      seen += block.rows;
    }
    EXPECT_EQ(seen, 11);
  }
  EXPECT_THAT(message_of([] { wrapping_encoder(2, {{2, 360}}); }), HasSubstr("there is no column 2"));
  EXPECT_THAT(message_of([&] { encoder->encode<double>(random_matrix(2, 4, 1)); }),
              HasSubstr("X has 4 columns, the model takes 3"));
}

}  // namespace carmina::testing::wrap_test
