// tests/outside/main.cpp -- uses the installed library as a stranger would.
#include <carmina/core/error.hpp>
#include <carmina/core/execution.hpp>
#include <carmina/models/model_file.hpp>
#include <cstdio>

int main() {
  carmina::ModelFile file;
  file.texts["note"] = "from outside";
  file.put<double>("identity", carmina::Matrix<double>::Identity(3, 3));
  const auto back = carmina::decode_model(carmina::encode_model(file), "memory");
  carmina::require(back.get<double>("identity").isIdentity(0), "the matrix changed on its way");
  std::printf("%s: %s\n", back.text("note").c_str(), carmina::format_bytes(1.5e9).c_str());
}
