/// sync_stub SOLUTION STUB: derives the stub of an exercise. The build runs it for every pristine stub that is tested.
#include <learn/files.h>
#include <learn/marks.h>

#include <iostream>

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: sync_stub SOLUTION STUB\n";
    return 2;
  }
  try {
    learn::write_text(arguments[2], learn::stub(learn::read_text(arguments[1]), arguments[1]));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
