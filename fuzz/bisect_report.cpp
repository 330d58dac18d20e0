#include "fuzz/bisect_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mqalab {
namespace {

using Json = nlohmann::json;

Json json_of(const Subject& s) { return {{"name", s.name}, {"title", s.title}}; }
Json json_of(const std::vector<Asked>& asked) {
  Json list = Json::array();
  for (const Asked& a : asked) {
    Json entry = json_of(a.subject);
    entry["answer"] = name(a.answer), entry["why"] = a.why;
    list.push_back(std::move(entry));
  }
  return list;
}
Json json_of(const Observation& failure) {
  return {{"signature", failure.signature.text()}, {"message", failure.text}};
}

Json named(const std::vector<Subject>& subjects, const std::vector<size_t>& numbers) {
  Json list = Json::array();
  for (const size_t i : numbers) list.push_back(json_of(subjects[i]));
  return list;
}
std::string titles(const std::vector<Subject>& subjects, const std::vector<size_t>& numbers) {
  std::vector<std::string> words;
  for (const size_t i : numbers) words.push_back(subjects[i].title);
  return fmt::format("{}", fmt::join(words, "\n           "));
}

// A range that begins with a revision without parents among those looked at comes after the good end.
std::vector<size_t> last_good(const Bisection& b) {
  const std::vector<size_t> good = b.last_good();
  return good.empty() ? std::vector<size_t>{0} : good;
}

std::string settings(const ConfigReport& r, const std::vector<size_t>& numbers) {
  std::vector<std::string> words;
  for (const size_t i : numbers) words.push_back(fmt::format("{}={}", r.fields[i].name, r.fields[i].value));
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}
std::vector<size_t> not_needed(const ConfigReport& r) {
  std::vector<size_t> rest;
  for (size_t i = 0; i < r.fields.size(); ++i)
    if (!std::ranges::count(r.result.needed, i) && !std::ranges::count(r.result.unclear, i))
      rest.push_back(i);
  return rest;
}
Json json_of(const ConfigReport& r, const std::vector<size_t>& numbers) {
  Json object = Json::object();
  for (const size_t i : numbers) object[r.fields[i].name] = r.fields[i].value;
  return object;
}

} // namespace

std::string text_of(const BuildReport& r, const Bisection& b) {
  const auto skipped = std::ranges::count(r.asked, Answer::skip, &Asked::answer);
  const std::string head =
      b.decided()
          ? "first bad: "
          : fmt::format("first bad: one of {}, of which all but the last give no answer:\n           ",
                        b.suspects().size());
  return fmt::format("{}{}\nlast good: {}\n{}\n{} {}, {} asked, {} of them without an answer; {} runs\n",
                     head, titles(r.subjects, b.suspects()), titles(r.subjects, last_good(b)), r.failure.text,
                     r.subjects.size(), r.noun, r.asked.size(), skipped, r.runs);
}

Json json_of(const BuildReport& r, const Bisection& b) {
  return {{"mode", r.mode},
          {"decided", b.decided()},
          {"first_bad", b.decided() ? json_of(r.subjects[b.suspects().front()]) : Json()},
          {"suspects", named(r.subjects, b.suspects())},
          {"last_good", named(r.subjects, last_good(b))},
          {"subjects", r.subjects.size()},
          {"asked", json_of(r.asked)},
          {"failure", json_of(r.failure)},
          {"runs", r.runs}};
}

std::string text_of(const ConfigReport& r) {
  std::string text = fmt::format("the failure needs: {}\n", settings(r, r.result.needed));
  if (!r.result.unclear.empty())
    text += fmt::format("no answer without: {}\n", settings(r, r.result.unclear));
  return text + fmt::format("not needed:        {}\n{}\n{} configurations asked, {} runs\n",
                            settings(r, not_needed(r)), r.failure.text, r.asked.size(), r.runs);
}

Json json_of(const ConfigReport& r) {
  return {{"mode", "config"},
          {"decided", r.result.unclear.empty()},
          {"needed", json_of(r, r.result.needed)},
          {"unclear", json_of(r, r.result.unclear)},
          {"not_needed", json_of(r, not_needed(r))},
          {"asked", json_of(r.asked)},
          {"failure", json_of(r.failure)},
          {"runs", r.runs}};
}

} // namespace mqalab
