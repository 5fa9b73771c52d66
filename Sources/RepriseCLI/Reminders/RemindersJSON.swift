import RepriseCore
import RepriseReminders
import RepriseWire

/// Reconciliations and routes for programs, each on one line.
enum RemindersJSON {
    static func object(_ reading: ReminderReconciliationReading, next: Int) -> String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("survey")
            if let reconciliation = reading.reconciliation {
                json.value(reconciliation)
            } else {
                json.null()
            }
            json.key("counts")
            json.object { json in
                json.member("desired", Int64(reading.desired))
                for status in ["pending", "missing", "refused", "extra", "beyond"] {
                    json.key(plain: status)
                    json.integer(Int64(reading.count(status)))
                }
            }
            json.key("difference")
            json.array { json in for row in reading.difference { json.value(row) } }
            json.key("next")
            json.array { json in
                for row in reading.rows.filter({ $0.status != "extra" }).prefix(next) {
                    json.value(row)
                }
            }
            json.key("marks")
            json.array { json in for mark in reading.marks { json.value(mark) } }
            json.key("decisions")
            json.array { json in for decision in reading.decisions { json.value(decision) } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    static func object(_ route: ReminderRouteReading) -> String {
        var writer = JSONWriter()
        writer.object { json in
            json.member("entry", route.entry)
            json.member("at", route.at.milliseconds)
            json.member("source", route.source)
            json.member("action", route.action)
            json.key("route")
            if let leads = route.route {
                json.object { json in
                    json.member("sort", leads.sort)
                    json.member("id", leads.id)
                    json.member("part", leads.part)
                    json.member("owner", leads.owner)
                    json.key("test")
                    json.bool(leads.isTest)
                }
            } else {
                json.null()
            }
            json.member("resolution", route.resolution)
            json.member("reason", route.reason)
            json.member("resolved", route.resolved?.milliseconds)
            json.member("handed", Int64(route.handed))
            json.member("presented", route.presented?.milliseconds)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ reconciliation: ReminderReconciliationReading.Reconciliation)
    {
        object { json in
            json.member("at", reconciliation.at.milliseconds)
            json.member("cause", reconciliation.cause)
            json.member("permission", reconciliation.permission)
            json.member("zone", reconciliation.zone)
            json.member("entities", Int64(reconciliation.entities))
            json.member("reminders", Int64(reconciliation.reminders))
            json.member("guaranteedUntil", reconciliation.guaranteedUntil?.milliseconds)
            json.member("fault", reconciliation.fault)
        }
    }

    fileprivate mutating func value(_ row: ReminderReconciliationReading.Row) {
        object { json in
            json.member("id", row.id)
            json.member("entity", row.entity)
            json.member("reminder", row.reminder)
            json.member("title", row.title)
            json.member("at", row.at.milliseconds)
            json.member("wall", row.wall)
            json.member("local", row.local)
            json.member("zone", row.zone)
            json.member("status", row.status)
            json.member("reason", row.reason)
        }
    }

    fileprivate mutating func value(_ mark: ReminderReconciliationReading.Mark) {
        object { json in
            json.member("what", mark.what)
            json.member("entity", mark.entity)
            json.member("reminder", mark.reminder)
            json.member("occurrence", mark.occurrence)
            json.member("until", mark.until.milliseconds)
        }
    }

    fileprivate mutating func value(_ decision: ReminderReconciliationReading.Decision) {
        object { json in
            json.member("at", decision.at.milliseconds)
            json.member("what", decision.what)
            json.member("request", decision.request)
            json.member("entity", decision.entity)
            json.member("reason", decision.reason)
        }
    }
}
