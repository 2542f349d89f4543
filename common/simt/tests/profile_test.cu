// Profiles: counts put together by source line, the largest launch of each kernel, and the file that holds them.
#include "gate.h"

#include <simt/profile.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

constexpr const char* this_file = "common/simt/tests/profile_test.cu";

// One warp, each lane's float `stride` floats behind that of the lane before it.
__global__ void strided(const float* x, float* y, int stride) {
  y[threadIdx.x] = x[threadIdx.x * stride];  // here: strided
}

// Two loads and a store of shared memory in one line; no conflicts.
__global__ void halves(const float* x, float* y) {
  __shared__ float both[64];
  both[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) both[threadIdx.x] += both[threadIdx.x + 32];  // here: add
  __syncthreads();
  y[threadIdx.x] = both[threadIdx.x % 32];
}

// Lanes at x[0], x[8], x[16], …, but for the last, at x[1]: sectors as bad as they can be, and no one distance.
__global__ void one_lane_astray(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x == 31 ? 1 : threadIdx.x * 8];
}

__global__ void out_of_bounds(const float* x, float* y, int count) { y[threadIdx.x + count] = x[threadIdx.x]; }

DeviceBuffer<float> ones(const char* name, std::int64_t count) {
  return DeviceBuffer<float>(name, std::vector<float>(static_cast<std::size_t>(count), 1.0f));
}

simt::KernelProfile profile_of_strided(int stride) {
  const auto x = ones("x", 32 * stride), y = ones("y", 32);
  const simt::ProfileScope scope;
  launch(strided, {1, 32}, x.data(), y.data(), stride);
  REQUIRE(scope.kernels().size() == 1);
  return scope.kernels().front();
}

simt::LineCounts access(const simt::KernelProfile& profile, int line, const std::string& buffer, bool store) {
  for (const simt::LineCounts& counts : profile.lines) {
    if (counts.line == line && counts.buffer == buffer && counts.store == store) return counts;
  }
  FAIL("the profile has no access to " << buffer << " in line " << line);
  return {};
}

std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a profile names the source line, the buffer, and how far apart the lanes of a needless request are") {
  const simt::KernelProfile profile = profile_of_strided(8);
  CHECK(profile.kernel.find("strided") != std::string::npos);
  CHECK(profile.blocks == 1);
  REQUIRE(profile.lines.size() == 2);
  const simt::LineCounts load = access(profile, gate::line_of(this_file, "strided"), "x", false);
  CHECK(load.file == this_file);
  CHECK(load.lane_bytes == 4);
  CHECK(load.counts.requests == 1);
  CHECK(load.counts.sectors == 32);
  CHECK(load.counts.ideal_sectors == 4);
  CHECK(load.distance.kind == simt::LaneDistance::one);
  CHECK(load.distance.bytes == 32);
  // Nothing is needless about the store, so its distance is of no interest.
  const simt::LineCounts store = access(profile, gate::line_of(this_file, "strided"), "y", true);
  CHECK(store.counts.sectors == 4);
  CHECK(store.distance.kind == simt::LaneDistance::none);
}

TEST_CASE("lanes that do not keep one distance have none") {
  const auto x = ones("x", 256), y = ones("y", 32);
  const simt::ProfileScope scope;
  launch(one_lane_astray, {1, 32}, x.data(), y.data());
  for (const simt::LineCounts& line : scope.kernels().at(0).lines) {
    if (!line.store) CHECK(line.distance.kind == simt::LaneDistance::several);
  }
}

TEST_CASE("instructions of one line are one entry") {
  const auto x = ones("x", 64), y = ones("y", 64);
  const simt::ProfileScope scope;
  launch(halves, {1, 64}, x.data(), y.data());
  const simt::KernelProfile& profile = scope.kernels().at(0);
  const int line = gate::line_of(this_file, "add");
  CHECK(access(profile, line, "shared", false).counts.requests == 2);
  CHECK(access(profile, line, "shared", false).counts.wavefronts == 2);
  CHECK(access(profile, line, "shared", true).counts.requests == 1);
  CHECK(profile.barriers == 2);
}

TEST_CASE("of each kernel the launch that asked for the most bytes is kept, whatever came after it") {
  const auto x = ones("x", 64 * 8), y = ones("y", 64);
  const simt::ProfileScope scope;
  launch(strided, {1, 16}, x.data(), y.data(), 1);
  launch(strided, {1, 64}, x.data(), y.data(), 8);
  launch(halves, {1, 64}, x.data(), y.data());
  launch(strided, {1, 32}, x.data(), y.data(), 1);
  REQUIRE(scope.kernels().size() == 2);
  const simt::KernelProfile& kept = scope.kernels().at(0);
  CHECK(access(kept, gate::line_of(this_file, "strided"), "x", false).counts.bytes == 64 * sizeof(float));
  CHECK(kept.blocks == 1);
}

TEST_CASE("a finding does not lose the profile") {
  const auto x = ones("x", 32), y = ones("y", 32);
  const simt::ProfileScope scope;
  CHECK_THROWS_AS(launch(out_of_bounds, {1, 32}, x.data(), y.data(), 32), simt::FindingError);
  REQUIRE(scope.kernels().size() == 1);
  CHECK(scope.kernels().front().bytes_requested() >= 32 * sizeof(float));
}

TEST_CASE("a profile written as text is read back as it was") {
  simt::KernelProfile profile = profile_of_strided(8);
  profile.lines[0].buffer = "x and y";
  profile.lines[0].distance.bytes = -12;
  profile.lines[1].distance = {simt::LaneDistance::several, 0};
  profile.barriers = 3;
  const std::string text = simt::profile_text({profile, profile});
  const std::vector<simt::KernelProfile> read = simt::read_profile(text);
  REQUIRE(read.size() == 2);
  CHECK(simt::profile_text(read) == text);
  CHECK(read[1].lines[0].buffer == "x and y");
  CHECK(read[1].lines[0].distance.bytes == -12);
  CHECK(read[1].lines[1].distance.kind == simt::LaneDistance::several);
  CHECK(read[1].lines[0].counts.sectors == profile.lines[0].counts.sectors);
  CHECK(read[1].barriers == 3);
}

TEST_CASE("a text that is no profile is refused with the line") {
  const std::string kernel = "kernel\tk\t1\t0\t0\t0\n";
  CHECK(simt::read_profile(kernel).size() == 1);
  for (const char* wrong : {"kernel\tk\t1\t0\t0\n", "kernel\tk\t1\t0\t0\tx\n", "kernel\tk\t1\t0\t0\t0\t0\n", "bread\n",
                            "buffer\ty\t1\n", "\n"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH_AS(simt::read_profile(kernel + wrong), doctest::Contains("Line 2 of the profile"),
                         std::runtime_error);
  }
}

namespace {

/// Runs the case above once more, as a program of its own with SIMT_PROFILE=file; gives its exit status.
int run_profiled(const std::filesystem::path& file) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  return std::system(("SIMT_PROFILE='" + file.string() + "' '" + program +
                      "' --test-case='a finding does not lose the profile' >/dev/null 2>&1")
                         .c_str());
}

}  // namespace

TEST_CASE("the file of SIMT_PROFILE holds a kernel that had a finding") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("profile_test_" + std::to_string(getpid()) + ".tsv");
  CHECK(run_profiled(file) == 0);
  const std::vector<simt::KernelProfile> kernels = simt::read_profile(text_of_file(file));
  std::filesystem::remove(file);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].kernel.find("out_of_bounds") != std::string::npos);
  CHECK(kernels[0].bytes_requested() >= 32 * sizeof(float));
}

TEST_CASE("a program whose profile cannot be written fails") {
  CHECK(run_profiled("/no/such/folder/profile.tsv") != 0);
}
