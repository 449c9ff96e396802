"""Conan recipe of the library and the program. What was run: see packaging/README.md."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Carmina(ConanFile):
    name = "carmina"
    version = "0.1.0"
    license = "BSD-3-Clause"
    description = "Kernel machines with one or many outputs, at scale"
    topics = ("kernel-methods", "random-fourier-features", "gaussian-processes")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"program": [True, False]}  # noqa: RUF012
    default_options = {"program": False}  # noqa: RUF012

    def export_sources(self):
        root = Path(self.recipe_folder).parents[1]
        for folder in ("c", "cli", "cmake", "include", "src"):
            copy(self, f"{folder}/*", root, self.export_sources_folder)
        for file in ("CMakeLists.txt", "LICENSE"):
            copy(self, file, root, self.export_sources_folder)

    def requirements(self):
        self.requires("eigen/3.4.0", transitive_headers=True)
        self.requires("zlib/[>=1.2.11 <2]")
        for headers in ("boost/1.84.0", "fmt/10.2.1", "nlohmann_json/3.11.3", "random123/1.14.0"):
            self.requires(headers, visible=False)
        if self.options.program:
            self.requires("cli11/2.4.1", visible=False)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        off = ("CARMINA_C", "CARMINA_PCH", "CARMINA_TESTS")
        toolchain.cache_variables.update(dict.fromkeys(off, "OFF"))
        toolchain.cache_variables["CARMINA_PROGRAM"] = bool(self.options.program)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Carmina")
        whole, predict = self.cpp_info.components["carmina"], self.cpp_info.components["predict"]
        whole.libs, predict.libs = ["carmina"], ["carmina_predict"]
        for component, name in ((whole, "carmina::carmina"), (predict, "carmina::predict")):
            component.set_property("cmake_target_name", name)
            component.requires = ["eigen::eigen"]
            component.system_libs = ["pthread", "m"]
        whole.requires += ["zlib::zlib"]
        whole.system_libs.append("dl")
        predict.exelinkflags = predict.sharedlinkflags = ["-Wl,--gc-sections"]
