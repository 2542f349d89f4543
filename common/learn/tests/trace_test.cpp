/// ./learn trace: where the cells of known requests lie, what the picture holds, and the command from end to end.
#include "error_of.h"

#include <doctest/doctest.h>
#include <learn/files.h>
#include <learn/picture.h>
#include <learn/process.h>

#include <unistd.h>

#include <regex>

namespace fs = std::filesystem;

namespace {

constexpr std::uintptr_t base = 0x10000;  // a multiple of 32, as what cudaMalloc returns

/// Lane l asks for lane_bytes bytes at base + offset + l · distance.
simt::TracedRequest request(unsigned lane_bytes, std::uintptr_t distance, std::uintptr_t buffer = base) {
  simt::TracedRequest result;
  result.mask = ~0u;
  result.lane_bytes = lane_bytes;
  result.buffer = "x";
  result.base = buffer;
  for (unsigned lane = 0; lane < 32; ++lane) result.address[lane] = buffer + lane * distance;
  return result;
}

simt::TracedRequest shared_request(std::uintptr_t distance) {
  simt::TracedRequest result = request(4, distance);
  result.space = simt::Space::shared;
  return result;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++times;
  return times;
}

/// What is wrong with a file of elements, quoted attributes and text; empty if it is well-formed XML.
std::string xml_error(const std::string& text) {
  static const std::regex tag(R"(^<(/?)([a-z]+)((?: [A-Za-z-]+="[^"<]*")*)(/?)>)");
  static const std::regex reference(R"(^&(amp|lt|gt|quot);)");
  std::vector<std::string> open;
  bool has_root = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = text.begin() + static_cast<std::ptrdiff_t>(at);
    std::smatch found;
    if (text[at] == '<') {
      if (!std::regex_search(rest, text.end(), found, tag)) return "no tag: " + text.substr(at, 60);
      if (found[1].matched && found[1].length() != 0) {
        if (open.empty() || open.back() != found[2]) return "closes what is not open: " + found[0].str();
        open.pop_back();
      } else {
        if (open.empty() && has_root) return "a second root: " + found[0].str();
        has_root = true;
        if (found[4].length() == 0) open.push_back(found[2]);
      }
      at += static_cast<std::size_t>(found.length());
    } else {
      if (text[at] == '&' && !std::regex_search(rest, text.end(), found, reference)) return "a bare &";
      ++at;
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

/// A block of two warps: each loads x once, a barrier, warp 0 loads from x again.
simt::BlockTrace small_trace() {
  simt::BlockTrace trace;
  trace.kernel = "sum<float>";
  trace.block = {64, 1, 1};
  for (unsigned warp : {0u, 1u, 0u}) {
    trace.requests.push_back(request(4, 4));
    trace.requests.back().warp = warp;
  }
  trace.phases = {{{1, 0, 0, 0}, {1, 0, 0, 0}}, {{1, 0, 7, 0}, {}}};
  trace.barriers = {{"kernel.cuh", 2}};
  return trace;
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("trace_test_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

learn::Finished trace(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {LNH_LEARN_PROGRAM, "trace"});
  return learn::run(arguments);
}

}  // namespace

TEST_CASE("neighbouring lanes of 4 bytes: 4 sectors, 8 lanes in each, every byte used") {
  const std::vector<learn::Sector> row = learn::sectors(request(4, 4));
  REQUIRE(row.size() == 4);
  for (int s = 0; s < 4; ++s) {
    CHECK(row[static_cast<std::size_t>(s)].offset == 32 * s);
    for (int byte = 0; byte < 32; ++byte)
      CHECK(row[static_cast<std::size_t>(s)].lane[static_cast<std::size_t>(byte)] == 8 * s + byte / 4);
  }
}

TEST_CASE("neighbouring lanes of 16 bytes: 16 sectors, 2 lanes in each, every byte used") {
  const std::vector<learn::Sector> row = learn::sectors(request(16, 16));
  REQUIRE(row.size() == 16);
  for (int s = 0; s < 16; ++s) {
    CHECK(row[static_cast<std::size_t>(s)].offset == 32 * s);
    for (int byte = 0; byte < 32; ++byte)
      CHECK(row[static_cast<std::size_t>(s)].lane[static_cast<std::size_t>(byte)] == 2 * s + byte / 16);
  }
}

TEST_CASE("lanes a row apart: a sector for each, of which 28 bytes are nobody's") {
  const std::vector<learn::Sector> row = learn::sectors(request(4, 16384));
  REQUIRE(row.size() == 32);
  for (int lane = 0; lane < 32; ++lane) {
    const learn::Sector& sector = row[static_cast<std::size_t>(lane)];
    CHECK(sector.offset == 16384 * lane);
    for (std::size_t byte = 0; byte < 32; ++byte) CHECK(sector.lane[byte] == (byte < 4 ? lane : -1));
  }
}

TEST_CASE("a buffer that begins inside a sector: the first one begins before it, and there is one more") {
  const std::vector<learn::Sector> row = learn::sectors(request(4, 4, base + 4));
  REQUIRE(row.size() == 5);
  CHECK(row[0].offset == -4);
  CHECK(row[0].lane[3] == -1);
  CHECK(row[0].lane[4] == 0);
  CHECK(row[4].offset == 124);
  CHECK(row[4].lane[3] == 31);
  CHECK(row[4].lane[4] == -1);
}

TEST_CASE("where lanes ask for the same bytes, the first one has them; lanes outside of the mask have none") {
  simt::TracedRequest same = request(4, 0);
  same.mask = 0xF0;
  const std::vector<learn::Sector> row = learn::sectors(same);
  REQUIRE(row.size() == 1);
  CHECK(row[0].lane[0] == 4);
  CHECK(row[0].lane[4] == -1);
}

TEST_CASE("shared memory: a column of a 32 × 32 tile is in one bank, of a padded one in 32") {
  const std::vector<learn::Word> column = learn::words(shared_request(32 * 4)),
                                 padded = learn::words(shared_request(33 * 4));
  REQUIRE(column.size() == 32);
  REQUIRE(padded.size() == 32);
  for (int lane = 0; lane < 32; ++lane) {
    const auto l = static_cast<std::size_t>(lane);
    CHECK(column[l].bank == 0);
    CHECK(column[l].lane == lane);
    CHECK(column[l].offset == 128 * lane);
    CHECK(padded[l].bank == lane);
  }
  CHECK(learn::words(shared_request(0)).size() == 1);
}

TEST_CASE("the picture is well-formed, with the requests of the warp and a line for each barrier") {
  const Folder folder;
  learn::write_text(folder.path / "kernel.cuh", "a;\n  if (a < b && c > d) __syncthreads();\n");
  const std::string svg = learn::picture({small_trace(), small_trace()}, 0, folder.path);
  CHECK(xml_error(svg) == "");
  CHECK(count(svg, "<g class=\"request\">") == 4);
  CHECK(count(svg, "class=\"barrier\"") == 2 * 2);  // the barrier and its entry in the key
  CHECK(count(svg, "sum&lt;float&gt;") == 2 + 2);   // the title has them too
  CHECK(count(svg, "if (a &lt; b &amp;&amp; c &gt; d) __syncthreads();") == 2);
  CHECK(count(svg, "shuffles and votes") == 2);
  CHECK(count(svg, "sorted by kind, not by time") == 2);
  CHECK(count(svg, "requests to shared memory") == 0);
  CHECK(count(svg, "@media (prefers-color-scheme: dark)") == 1);
  CHECK(count(learn::picture({small_trace()}, 1, folder.path), "<g class=\"request\">") == 1);
  CHECK(error_of([&] { learn::picture({small_trace()}, 2, folder.path); }) ==
        "There is no warp 2 in a block of sum<float>, which has 2 warps: their numbers start at 0.");
}

TEST_CASE("the judge of XML convicts") {
  CHECK(xml_error("<a><b/></a>") == "");
  for (const char* wrong : {"<a>", "</a>", "<a></b>", "<a>x & y</a>", "<a b=c/>", "<a/><b/>", "<a>1 < 2</a>"})
    CHECK_MESSAGE(xml_error(wrong) != "", wrong);
}

TEST_CASE("a chapter's picture has every kernel, and is the same every time") {
  const Folder folder;
  const learn::Finished finished = trace({"00", "--svg", folder.file("a.svg")});
  REQUIRE_MESSAGE(finished.exit_code == 0, finished.output);
  const std::string svg = learn::read_text(folder.file("a.svg"));
  CHECK(xml_error(svg) == "");
  CHECK(count(svg, "<g class=\"request\">") == 4);  // a load and a store of each copy
  CHECK(count(svg, ">4 sectors = 128 bytes, 128 of them used<") == 2);
  CHECK(count(svg, ">16 sectors = 512 bytes, 512 of them used<") == 2);
  REQUIRE(trace({"0", "--svg", folder.file("b.svg")}).exit_code == 0);
  CHECK(learn::read_text(folder.file("b.svg")) == svg);
}

TEST_CASE("one kernel, its requests and its barriers") {
  const Folder folder;
  REQUIRE(trace({"01", "--kernel", "layer_norm_thread_per_row", "--requests", "3", "--svg", folder.file("a.svg")})
              .exit_code == 0);
  const std::string per_row = learn::read_text(folder.file("a.svg"));
  CHECK(count(per_row, "<g class=\"request\">") == 3);
  CHECK(count(per_row, ">32 sectors = 1024 bytes, 128 of them used<") == 3);
  CHECK(count(per_row, "class=\"barrier\"") == 0);
  REQUIRE(trace({"01", "--kernel", "three_pass::layer_norm", "--warp", "7", "--svg", folder.file("b.svg")}).exit_code ==
          0);
  const std::string block = learn::read_text(folder.file("b.svg"));
  CHECK(count(block, "<g class=\"request\">") == 4);
  CHECK(count(block, "class=\"barrier\"") == 2 * 9 + 1);  // two trees of 8 steps, and the key
}

TEST_CASE("what cannot be drawn is refused with a sentence and exit code 2") {
  const Folder folder;
  const auto refused = [](std::vector<std::string> arguments) {
    const learn::Finished finished = trace(std::move(arguments));
    CHECK_MESSAGE(finished.exit_code == 2, finished.output);
    return finished.output;
  };
  const std::string svg = folder.file("a.svg");
  CHECK(refused({"77", "--svg", svg}).starts_with("There is no chapter '77'."));
  CHECK(refused({"00", "--kernel", "nothing", "--svg", svg}) ==
        "Chapter 00 has no kernel 'nothing'; its kernels are copy::scalar, copy::vectorized.\n");
  CHECK(refused({"00", "--warp", "8", "--svg", svg}).starts_with("There is no warp 8 in a block of copy::"));
  CHECK(refused({"00"}).find("--svg") != std::string::npos);
  CHECK(refused({"00", "--requests", "0", "--svg", svg}).find("--requests") != std::string::npos);
  CHECK_FALSE(fs::exists(svg));
  CHECK(refused({"00", "--svg", folder.path.string()}) ==
        "The file " + folder.path.string() + " cannot be written: Is a directory.\n");
  CHECK_FALSE(fs::exists(folder.path.string() + ".new"));
  CHECK(refused({"00", "--svg", folder.file("missing/a.svg")}) ==
        "There is no folder " + folder.file("missing") +
            " for the picture a.svg: create it first, or correct --svg.\n");
  CHECK_FALSE(fs::exists(folder.file("missing")));
  CHECK(refused({"00", "--svg", "/dev/null/a.svg"}).starts_with("There is no folder /dev/null for the picture a.svg"));
  CHECK(refused({"05.1", "--svg", svg}).ends_with("shows ./learn profile 05.1.\n"));
}
