// Content to and from SQLite tables, and to and from JSON (the export format).
#pragma once
#include "db/content.hpp"
#include "db/sqlite.hpp"

#include <string>

namespace mqalab {

// problem: only what concerns this key; "" for everything.
Content read_content(Connection&, const std::string& problem = "");
// Replaces everything in the tables but meta's other entries and the journal.  The caller holds a
// transaction.
void write_content(Connection&, const Content&);

// One row each, found or made by natural key; the caller holds a transaction.
int64_t device_row(Connection&, const DeviceId&, const Device&);
int64_t build_row(Connection&, const std::string& kernel_hash, const Build&);
int64_t problem_row(Connection&, const std::string& key, double weight);
int64_t config_row(Connection&, const std::string& text);
void write_trial(Connection&, const std::string& uuid, const Trial&); // what it refers to exists
void write_certificate(Connection&, const CertificateKey&, const Certificate&);
void write_quarantine(Connection&, const QuarantineKey&, const Quarantine&);
void write_best(Connection&, const BestKey&, const Best&);
void write_history(Connection&, const HistoryEntry&);

std::string to_json(const Content&);
// Throws DatabaseError naming `origin` and the field.
Content content_from_json(const std::string& text, const std::string& origin);

} // namespace mqalab
