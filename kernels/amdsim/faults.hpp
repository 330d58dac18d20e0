// Faults end a launch: the instruction that meets one jumps out of the interpreter. So does the signal of an
// access to a guard page. Every message goes to stderr and stays readable as amdsim_last_message().
#pragma once
#include <string>

namespace amdsim {

enum class Status { Ok, Fault, Trap, Unimplemented, Timeout };

// Ends the running launch; the message gets kernel, block, wave and instruction in front.
[[noreturn]] void fault(Status status, const char* format, ...) __attribute__((format(printf, 2, 3)));
void install_signals();

void say(const char* format, ...) __attribute__((format(printf, 1, 2))); // a line of trace
void report(const char* format, ...)
    __attribute__((format(printf, 1, 2))); // a fault or misuse: kept as last message

extern std::string last_message;
extern bool quiet;

} // namespace amdsim
