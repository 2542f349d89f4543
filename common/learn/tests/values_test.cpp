/// Figures of stored measurements in prose.
#include "error_of.h"
#include "stored_results.h"

#include <doctest/doctest.h>
#include <learn/measurements.h>
#include <learn/values.h>

#include <string>

namespace {

/// n::a on three numbers of columns, with 4096 of them on two matrices; n::b on these, too; n::c on the small one.
class Fixture {
public:
  Fixture() {
    folder_.write("card/a.json", stored({timed("n::a/rows:1024/cols:256/cold_L2", 0.2, 0.961),
                                         timed("n::a/rows:64/cols:4096/cold_L2", 0.0093, 0.862),
                                         timed("n::a/rows:1/cols:4096/cold_L2", 0.00446, 0.043),
                                         timed("n::a/rows:32/cols:8192/cold_L2", 0.5, 0.924),
                                         timed("n::a/rows:32/cols:4096/warm_L2", 0.0079, 0.52),
                                         timed("n::b, both parts/rows:1024/cols:256/cold_L2", 0.234, 0.82),
                                         timed("n::b, both parts/rows:64/cols:4096/cold_L2", 0.00986, 0.81),
                                         timed("n::b, both parts/rows:32/cols:8192/cold_L2", 0.49, 0.94),
                                         timed("n::c/rows:1/cols:4096/cold_L2", 12.3456, 0.001),
                                         timed("copy::wide/count:262144/cold_L2", 0.0304, 1),
                                         timed("copy::wide/count:64/warm_L2", 1, 2)}));
  }

  std::string text(const std::string& mark) const { return learn::stored_value(mark, folder_.path).text; }
  std::string refusal(const std::string& mark) const {
    const std::string sentence = error_of([&] { text(mark); });
    const std::string path = folder_.path.string() + "/";
    return sentence.starts_with(path) ? sentence.substr(path.size()) : sentence;
  }
  const ResultsFolder& folder() const { return folder_; }
  bool of_several(const std::string& mark) const { return learn::stored_value(mark, folder_.path).of_several; }

private:
  ResultsFolder folder_;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "values: each kind, at a number of columns, on a matrix and of a copy") {
  CHECK(text("of_copy card/a n::a 4096") == "0.86");
  CHECK(text("of_copy card/a n::a 1×4096") == "0.043");
  CHECK(text("of_copy card/a n::a 4096 warm") == "0.52");
  CHECK(text("of_copy card/a copy::wide 262144") == "1.00");
  CHECK(text("of_copy card/a \"n::b, both parts\" 4096") == "0.81");
  CHECK(text("microseconds card/a n::a 4096") == "9.3");
  CHECK(text("microseconds card/a n::a 1×4096") == "4.5");
  CHECK(text("microseconds card/a copy::wide 262144") == "30");
  CHECK(text("microseconds card/a n::c 1×4096") == "12 346");
  CHECK(text("faster card/a n::a than \"n::b, both parts\" 256") == "17 %");  // 0.234/0.2
  CHECK_FALSE(of_several("of_copy card/a n::a 4096"));
}

TEST_CASE_FIXTURE(Fixture, "values: of several sizes or kernels the least and the most") {
  CHECK(text("of_copy card/a n::a 8192,256") == "0.92 to 0.96");
  CHECK(text("of_copy card/a n::a 256..8192") == "0.86 to 0.96");
  CHECK(text("of_copy card/a n::a 257..8192") == "0.86 to 0.92");
  CHECK(text("microseconds card/a n::a 4096 warm") == "7.9");
  CHECK(text("microseconds card/a n::a 1×4096,64×4096") == "4.5 to 9.3");
  CHECK(text("of_copy card/a n::a \"n::b, both parts\" 4096..8192") == "0.81 to 0.94");
  CHECK(text("faster card/a n::a than \"n::b, both parts\" 256..8192") == "−2 to 17 %");  // 0.49/0.5, 0.234/0.2
  CHECK(text("faster card/a n::a than \"n::b, both parts\" 256,4096") == "6 to 17 %");    // 9.86/9.3
  CHECK(text("of_copy card/a n::a 4096,4096") == "0.86");
  CHECK(of_several("of_copy card/a n::a 4096,4096"));
}

TEST_CASE_FIXTURE(Fixture, "values: a noisy point has no mark in prose") {
  folder().write("card/second/a.json", stored({timed("n::a/rows:32/cols:8192/cold_L2", 0.6, 0.77)}));
  CHECK(learn::stored_measurements(folder().path / "card/a.json").points[3].noisy);
  CHECK(text("of_copy card/a n::a 8192") == "0.92");
}

TEST_CASE_FIXTURE(Fixture, "values: a mark that names none says what is wrong and what there is") {
  CHECK(refusal("of_copy card/a n::a 5120") ==
        "card/a.json holds no time of 'n::a' at 5120 with a cold L2, on the largest matrix; it has 1 024 × 256, "
        "64 × 4 096, 1 × 4 096, 32 × 8 192.");
  CHECK(refusal("of_copy card/a n::a 8×4096") ==
        "card/a.json holds no time of 'n::a' at 8×4096 with a cold L2; it has 1 024 × 256, 64 × 4 096, 1 × 4 096, "
        "32 × 8 192.");
  // n::c was measured, but on less than the others.
  CHECK(refusal("of_copy card/a n::c 4096").starts_with("card/a.json holds no time of 'n::c' at 4096 "));
  CHECK(refusal("faster card/a n::a than n::c 64×4096") ==
        "card/a.json holds no time of 'n::c' on 64 × 4 096 with a cold L2; it has 1 × 4 096.");
  CHECK(refusal("of_copy card/a n::d 4096") ==
        "card/a.json holds nothing of 'n::d' with a cold L2; its kernels are 'n::a', 'n::b, both parts', 'n::c', "
        "'copy::wide'.");
  CHECK(refusal("of_copy card/a n::c 4096 warm").starts_with("card/a.json holds nothing of 'n::c' with a warm L2; "));
  CHECK(refusal("of_copy card/b n::a 4096").find("b.json") != std::string::npos);
  for (const char* size : {"wide", "4096x1", "4096..", "8192..", "-1", "4096,,8192", ""})
    CHECK_MESSAGE(refusal(std::string("of_copy card/a n::a \"") + size + "\"") != "", size);
  CHECK(refusal("of_copy card/a n::a wide").starts_with("'wide' is no size; "));
  for (const char* mark :
       {"", "4096", "warm", "of_copy", "of_copy card/a 4096", "slower card/a n::a 4096", "faster card/a n::a 4096",
        "of_copy card/a n::a than n::c 4096", "faster card/a than n::c 4096"}) {
    CHECK_MESSAGE(refusal(mark).starts_with("'" + std::string(mark) + "' names no figure; a mark is 'of_copy "), mark);
  }
}
