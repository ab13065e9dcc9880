// `waiters --connections N --fetches M …`: connects, prints `open`, and then does what each line on stdin
// says: `ask` prints `asked`, `publish` prints what it took as JSON, `quiet` prints `quiet`. It ends with its
// input, or with 2 on anything that would make the figures worth nothing.

#include <iostream>

#include "waiters/waiters.h"

int main(int argc, char** argv) {
  bench::Args args(argc, argv, 1);
  const bench::WaitersOptions options = bench::WaitersOptions::Parse(args);
  bench::Waiters waiters(options);
  waiters.Open();
  std::cout << "open" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "ask") {
      waiters.Ask();
      std::cout << "asked" << std::endl;
    } else if (line == "publish") {
      waiters.Publish();
    } else if (line == "quiet") {
      waiters.CheckQuiet();
      std::cout << "quiet" << std::endl;
    } else {
      bench::Die("not a command: " + line);
    }
  }
  return 0;
}
