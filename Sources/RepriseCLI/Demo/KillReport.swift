import RepriseCore
import RepriseWire

/// The outcome of every message of the demo.
struct KillReport: Sendable {
    /// A device's effects, by the file outside its journal.
    struct Device: Sendable {
        let applied: Int
        let again: Int
        let lost: Int
        /// From the last restart until it had everything; nil if it never had.
        let after: Duration?

        init(_ log: EffectLog, _ acknowledged: Set<EntryID>, after: Duration?) {
            applied = log.ids.count
            again = log.repeated
            lost = acknowledged.subtracting(log.ids).count
            self.after = lost == 0 ? after : nil
        }
    }

    /// The rows of the table that shares the journal's transactions.
    struct Sink: Sendable {
        let applied: Int
        let again: Int
        let lost: Int

        init(_ ids: [EntryID], _ acknowledged: Set<EntryID>) {
            let distinct = Set(ids)
            applied = distinct.count
            again = ids.count - distinct.count
            lost = acknowledged.subtracting(distinct).count
        }
    }

    let seed: UInt64
    let published: Int
    let acknowledged: Int
    let kills: Int
    let ours: Device
    let naive: Device
    let sink: Sink
    let perSecond: Int
    let duration: Duration

    /// Whether all invariants held.
    var hasPassed: Bool {
        acknowledged == published && ours.lost == 0 && sink.lost == 0 && sink.again == 0
    }

    /// For people.
    func table(_ terminal: Terminal) -> String {
        func row(_ name: String, _ ours: String, _ naive: String) -> String {
            name.left(46) + ours.right(12) + naive.right(12)
        }
        func count(_ count: Int, _ colour: Terminal.Colour?) -> String {
            let text = count.grouped.right(12)
            guard let colour else { return text }
            return terminal.paint(text, count == 0 ? .green : colour)
        }
        let never = "never"
        return [
            "",
            terminal.paint(row("", "reprise", "naive"), .bold),
            row("published", published.grouped, published.grouped),
            row("acknowledged by the server", acknowledged.grouped, acknowledged.grouped),
            row(
                "applied, in a file outside the journal", ours.applied.grouped,
                naive.applied.grouped),
            "  handed over a second time".left(46) + count(ours.again, nil)
                + count(naive.again, .yellow),
            "  lost".left(46) + count(ours.lost, .red) + count(naive.lost, .red),
            row("applied, in the journal's own transaction", sink.applied.grouped, "–"),
            "  repeated".left(46) + count(sink.again, .red) + "–".right(12),
            "  lost".left(46) + count(sink.lost, .red) + "–".right(12),
            row(
                "from the last restart to caught up", ours.after.map(\.shown) ?? never,
                naive.after.map(\.shown) ?? never),
            "",
            disposition(terminal),
            "",
            Self.explanation,
            "A burst went out at about \(perSecond.grouped) messages/s, by the median.",
            "Run it again: reprise demo kill --seed \(seed)",
        ].joined(separator: "\n")
    }

    private func disposition(_ terminal: Terminal) -> String {
        hasPassed
            ? terminal.paint(
                "Nothing lost, nothing repeated in the transaction, after \(kills + 1) kills.",
                .green)
            : terminal.paint("A promise was broken. Please report it with the seed.", .red)
    }

    private static let explanation = """
        A file cannot share a transaction with the journal. A device that is killed
        between writing its line and recording that it did is handed the message
        again, and told so: at most 128 of them at each kill. That is what "handed
        over a second time" counts.
        """

    /// For programs, on one line.
    func json() -> String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("scenario")
            json.plain("kill")
            json.key("seed")
            json.raw(Array(String(seed).utf8))
            json.key("published")
            json.integer(Int64(published))
            json.key("acknowledged")
            json.integer(Int64(acknowledged))
            json.key("deviceKills")
            json.integer(Int64(kills))
            json.key("serverKills")
            json.integer(1)
            json.key("reprise")
            Self.write(ours, to: &json)
            json.key("transaction")
            json.object { json in
                Self.write("applied", sink.applied, to: &json)
                Self.write("repeated", sink.again, to: &json)
                Self.write("lost", sink.lost, to: &json)
            }
            json.key("naive")
            Self.write(naive, to: &json)
            json.key("milliseconds")
            json.integer(duration.milliseconds)
            json.key("passed")
            json.bool(hasPassed)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ device: Device, to json: inout JSONWriter) {
        json.object { json in
            write("applied", device.applied, to: &json)
            write("again", device.again, to: &json)
            write("lost", device.lost, to: &json)
            json.key("caughtUpMilliseconds")
            json.raw(Array((device.after.map { "\($0.milliseconds)" } ?? "null").utf8))
        }
    }

    private static func write(_ name: String, _ count: Int, to json: inout JSONWriter) {
        json.key(plain: name)
        json.integer(Int64(count))
    }
}
