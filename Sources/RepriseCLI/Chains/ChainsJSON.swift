import Foundation
import RepriseChains
import RepriseCore
import RepriseWire

/// Chains for programs, without a line break.
enum ChainsJSON {
    /// A line of the list.
    static func line(_ chain: ChainRecord) -> String {
        text { $0.object { write(chain, to: &$0) } }
    }

    /// A line of the schedules; the rule as it is stored.
    static func line(_ schedule: ChainScheduleStatus) -> String {
        text { json in
            json.object { json in
                string("name", schedule.name, to: &json)
                string("definition", schedule.definition, to: &json)
                if let rule = schedule.schedule, let bytes = try? JSONEncoder().encode(rule) {
                    json.key("schedule")
                    json.raw(Array(bytes))
                }
                time("next", schedule.next, to: &json)
                string("reason", schedule.reason, to: &json)
                string("lastRun", schedule.lastRun?.text, to: &json)
                time("lastStarted", schedule.lastStartedAt, to: &json)
                string("lastState", schedule.lastState?.word, to: &json)
                integer("skipped", Int64(schedule.skipped), to: &json)
            }
        }
    }

    /// A chain with its tasks and its log; the tasks come last.
    static func whole(
        _ chain: ChainRecord, _ tasks: [ChainTaskRecord], _ log: [ChainLogRecord]
    ) -> String {
        text { json in
            json.object { json in
                write(chain, to: &json)
                content("input", chain.input, to: &json)
                json.key("log")
                json.array { list in for line in log { list.object { write(line, to: &$0) } } }
                json.key("tasks")
                json.array { list in for task in tasks { list.object { write(task, to: &$0) } } }
            }
        }
    }

    static func task(_ task: ChainTaskRecord) -> String {
        text { $0.object { write(task, to: &$0) } }
    }

    static func left(_ command: String, _ chain: ChainRecord) -> String {
        text { json in
            json.object { json in
                json.key("left")
                json.string(command)
                json.key("chain")
                json.string(chain.id)
            }
        }
    }

    static func leftUnscheduling(_ name: String) -> String {
        text { json in
            json.object { json in
                json.key("left")
                json.string("unschedule")
                json.key("schedule")
                json.string(name)
            }
        }
    }

    static func leftClearing(
        _ seconds: Int, _ counts: [(state: ChainState?, count: Int64)]
    ) -> String {
        text { json in
            json.object { json in
                json.key("left")
                json.string("clear")
                json.key("olderThan")
                json.integer(Int64(seconds))
                json.key("chains")
                json.integer(counts.reduce(0) { $0 + $1.count })
                json.key("states")
                json.object { json in
                    for (state, count) in counts {
                        integer(state?.word ?? "unknown", count, to: &json)
                    }
                }
            }
        }
    }

    private static func text(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ chain: ChainRecord, to json: inout JSONWriter) {
        string("id", chain.id, to: &json)
        string("definition", chain.definition, to: &json)
        integer("version", chain.version, to: &json)
        string("hash", chain.hash, to: &json)
        string("name", chain.name, to: &json)
        string("state", chain.state?.word ?? "unknown", to: &json)
        string("reason", chain.reason, to: &json)
        string("waitsFor", chain.hold, to: &json)
        integer("taskCount", chain.taskCount, to: &json)
        integer("doneCount", chain.doneCount, to: &json)
        if chain.needs != 0 || chain.needsBytes > 0 {
            json.key("needs")
            json.array { list in for need in chain.needed { list.string(need) } }
        }
        time("started", chain.startedAt, to: &json)
        time("due", chain.due, to: &json)
        time("deadline", chain.deadline, to: &json)
        time("ended", chain.endedAt, to: &json)
        time("leaves", chain.leaves, to: &json)
    }

    private static func write(_ task: ChainTaskRecord, to json: inout JSONWriter) {
        integer("place", task.place, to: &json)
        integer("step", task.step, to: &json)
        string("name", task.name, to: &json)
        string("worker", task.worker, to: &json)
        string("state", task.word, to: &json)
        string("waitsFor", task.hold, to: &json)
        integer("attempts", task.attempts, to: &json)
        integer("failures", task.failures, to: &json)
        time("nextAttempt", task.nextAttempt, to: &json)
        time("started", task.startedAt, to: &json)
        time("ended", task.endedAt, to: &json)
        time("deadline", task.deadline, to: &json)
        if let progress = task.progress, progress.isFinite {
            json.key("progress")
            json.raw(Array("\(max(-1e9, min(progress, 1e9)))".utf8))
        }
        string("note", task.note, to: &json)
        string("error", task.error, to: &json)
        content("input", task.input, to: &json)
        content("undoInput", task.compensationInput, to: &json)
        content("output", task.output, to: &json)
        content("checkpoint", task.checkpoint, to: &json)
    }

    private static func write(_ line: ChainLogRecord, to json: inout JSONWriter) {
        time("at", line.at, to: &json)
        string("task", line.task, to: &json)
        string("line", line.line, to: &json)
    }

    private static func string(_ key: String, _ value: String?, to json: inout JSONWriter) {
        guard let value else { return }
        json.key(plain: key)
        json.string(value)
    }

    private static func integer(_ key: String, _ value: Int64, to json: inout JSONWriter) {
        json.key(plain: key)
        json.integer(value)
    }

    private static func time(_ key: String, _ value: WallTime?, to json: inout JSONWriter) {
        if let value { integer(key, value.milliseconds, to: &json) }
    }

    /// JSON as it is; else a text, or bytes in base64.
    ///
    /// Truncated content contains its full length.
    private static func content(
        _ key: String, _ content: StoredContent, to json: inout JSONWriter
    ) {
        if content.bytes == nil, content.file == nil { return }
        if let file = content.file { string(key + "File", file, to: &json) }
        if let fault = content.fault { string(key + "Fault", fault, to: &json) }
        integer(key + "Bytes", content.count, to: &json)
        guard let bytes = content.bytes else { return }
        if bytes.count < content.count {
            string(key + "Beginning", String(decoding: bytes, as: UTF8.self), to: &json)
        } else if isJSON(bytes) {
            json.key(plain: key)
            json.raw(bytes)
        } else if let text = String(validating: bytes, as: UTF8.self) {
            string(key + "Text", text, to: &json)
        } else {
            string(key + "Base64", Data(bytes).base64EncodedString(), to: &json)
        }
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        guard !bytes.contains(where: { $0 < 0x20 }) else { return false }
        return (try? JSONScanner.validate(bytes)) != nil
    }
}
