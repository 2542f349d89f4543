/// The commands of ./learn. Each returns the exit code of the program.
#pragma once

#include <learn/exit_codes.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// Where the course lies and where this program was built.
struct Place {
  std::filesystem::path root;   // the source folder; the program works from there
  std::filesystem::path build;  // the build folder
};

struct TourOptions {
  bool json = false;
  bool verbose = false;
  std::int64_t rows = 256;
  std::int64_t cols = 4096;
  std::string
      gpu_results;  // folder with Google Benchmark's JSON of the chapters' benchmarks on a GPU; empty without one
};
ExitCode tour(const Place& place, const TourOptions& options);

struct TestOptions {
  bool long_tier = false;
  std::uint64_t seed = 0;  // of the order of lanes and warps; 0: the fixed one
};
ExitCode test(const Place& place, const TestOptions& options);

struct ListOptions {
  bool json = false;
};
ExitCode list(const Place& place, const ListOptions& options);
/// The first exercise that is not passed.
ExitCode next(const Place& place);

struct CheckOptions {
  std::string exercise;     // "01.2"
  bool verbose = false;     // every failing test in full, and all that the compiler says
  bool json = false;        // the verdict as one line of JSON
  bool gpu = false;         // on the GPU, with compute-sanitizer where it is installed
  bool pristine = false;    // the untouched stub in place of the reader's file; the READMEs quote this
  std::uint64_t seed = 0;   // of the order of lanes and warps; 0: the fixed one
  std::uint64_t seeds = 0;  // how many seeds, from 1, are tried after the fixed order
};
ExitCode check(const Place& place, const CheckOptions& options);
/// The same at every save, until it is interrupted.
ExitCode watch(const Place& place, const CheckOptions& options);

struct HintOptions {
  std::string exercise;
};
ExitCode hint(const Place& place, const HintOptions& options);

struct CompareOptions {
  std::string exercise;
  bool json = false;
  bool diff = false;  // the code beside the reference's
  bool gpu = false;   // time, registers and spills as well
};
ExitCode compare(const Place& place, const CompareOptions& options);

struct ResetOptions {
  std::string exercise;
  bool yes = false;  // the reader was asked already
};
ExitCode reset(const Place& place, const ResetOptions& options);

struct SolveOptions {
  std::string exercise;
  bool show = false;  // print the reference, and change no file
  bool yes = false;
};
ExitCode solve(const Place& place, const SolveOptions& options);

struct ProfileOptions {
  std::string subject;  // a chapter, "01", or an exercise, "01.2"
  bool json = false;
  bool pristine = false;  // as for check
  std::int64_t rows = 256;
  std::int64_t cols = 4096;
};
ExitCode profile(const Place& place, const ProfileOptions& options);

struct TraceOptions {
  std::string chapter;       // "01"
  std::string svg;           // the file to write
  std::string kernel;        // its name with or without namespace; empty: every kernel of the chapter
  unsigned warp = 0;         // of block 0
  std::size_t requests = 4;  // drawn at most
};
ExitCode trace(const Place& place, const TraceOptions& options);

/// Of ./learn numerics kappa.
struct KappaOptions {
  bool json = false;
  bool bounds = false;  // the picture shows each method with its bounds
  std::string svg;      // the file to write; empty: a table is printed
};
ExitCode numerics_example();
ExitCode numerics_kappa(const KappaOptions& options);
ExitCode numerics_nist();
/// Of ./learn numerics train.
struct TrainOptions {
  bool json = false;
  std::string svg;  // the file to write; empty: a table is printed
};
ExitCode numerics_train(const Place& place, const TrainOptions& options);

struct ChartOptions {
  std::string name;     // "ladder", "forward", …: chart_names()
  std::string results;  // the folder with the stored results of a card
  std::string svg;      // the file to write; empty: a table is printed
};
ExitCode chart(const ChartOptions& options);

struct SyncOptions {
  bool check = false;      // write nothing, show the differences
  bool exercises = false;  // the stubs in exercises/ as well
};
ExitCode sync_files(const Place& place, const SyncOptions& options);

/// text without the root's path in front of file names, and with stubs called by the name of the reader's file.
std::string with_short_paths(std::string text, const Place& place);

}  // namespace learn
