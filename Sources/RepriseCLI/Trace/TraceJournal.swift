import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseWire

/// The steps that a journal knows.
struct TraceJournal {
    let trace: MessageTrace

    private var message: MessageReading { trace.message }

    var steps: [TraceStep] {
        var steps: [TraceStep] = []
        if let sent = message.sent { steps += [recorded(sent), outbox(sent)] }
        if let received = message.received {
            steps += self.received(received)
        } else if let missing {
            steps.append(missing)
        }
        steps += message.readers.map(handled)
        steps += notice
        steps += trace.notice.taps.reversed().map(tapped)
        return steps + receipts
    }

    /// What no journal keeps.
    var unknown: [String] {
        guard let received = message.received else { return [] }
        var unknown = ["When it was received: the log of the app at debug has it."]
        if trace.notice.decided == nil {
            unknown.append(
                "Whether it came live or in a catch-up: the log of the app at debug has it.")
        }
        if received.change == nil, message.readers.isEmpty {
            unknown.append("Whether the app has shown it: no reader of this channel is recorded.")
        }
        return unknown
    }

    // MARK: The outbox

    private func recorded(_ sent: MessageReading.Sent) -> TraceStep {
        let what =
            switch sent.change {
            case .edits(let target): "as an edit of \(target)"
            case .deletes(let target): "as the deletion of \(target)"
            case nil: "in this device's outbox"
            }
        return TraceStep(
            place: .device, at: sent.entry.recordedAt, name: "recorded", text: what,
            facts: ["target": .text(sent.change?.target.text)])
    }

    private func outbox(_ sent: MessageReading.Sent) -> TraceStep {
        let entry = sent.entry
        let times = entry.attempts == 1 ? "1 attempt" : "\(entry.attempts) attempts"
        var (name, text, at) = ("waiting", "", WallTime?.none)
        switch entry.place {
        case .ready: text = "for a connection that the server has welcomed; \(times)"
        case .queued(let count): text = "behind \(count) earlier of its channel; \(times)"
        case .delayed(let time):
            text = "until \(time.dayAndTime), after \(times): \(entry.reason ?? "?")"
        case .inFlight:
            (name, text) = (
                "sent", "and not answered yet, or its process has died first; \(times)"
            )
        case .ended(.applied):
            let place = sent.seq.map { " as sequence \($0)" } ?? ""
            (name, text) = ("acknowledged", "by the server\(place); \(times)")
        case .ended(.dead):
            let why = sent.refusal.map { "\($0.code): \($0.message)" } ?? entry.reason ?? "?"
            (name, at) = ("dead letter", sent.refusal?.at)
            text = "after \(times): \(why) (reprise dead-letters)"
        case .ended(let outcome):
            (name, text) = (outcome.rawValue, "\(entry.reason ?? "no reason given") (\(times))")
        }
        return TraceStep(
            place: .device, at: at, name: name, text: text,
            facts: [
                "attempts": .integer(entry.attempts), "seq": .integer(sent.seq),
                "reason": .text(sent.refusal?.message ?? entry.reason),
                "code": .text(sent.refusal?.code),
            ])
    }

    // MARK: The log

    private func received(_ received: MessageReading.Received) -> [TraceStep] {
        let author = received.from.map { " from \($0)" } ?? ""
        let change =
            switch received.change {
            case .edits(let target): ", an edit of \(target)"
            case .deletes(let target): ", a deletion of \(target)"
            case nil: ""
            }
        var steps = [
            TraceStep(
                place: .device, at: received.time, name: "stored",
                text: "by the server, by its clock: sequence \(received.seq)\(author)\(change)",
                facts: [
                    "seq": .integer(received.seq), "epoch": .text(received.epoch),
                    "from": .text(received.from), "target": .integer(received.change?.target),
                ]),
            TraceStep(
                place: .device, name: "received",
                text: trace.notice.decided.map { "first by \(Self.way($0.way))" }
                    ?? "by the connection",
                facts: ["by": .text(trace.notice.decided?.way)]),
        ]
        if received.isDeleted {
            steps.append(TraceStep(place: .device, name: "deleted", text: "its body is gone"))
        } else if received.edits > 0 {
            steps.append(
                TraceStep(
                    place: .device, name: "edited", text: "\(received.edits) times",
                    facts: ["edits": .integer(received.edits)]))
        }
        if let current = received.current, current != received.seq {
            steps.append(
                TraceStep(
                    place: .device, name: "again",
                    text: "as sequence \(current), after the server's log was restored",
                    facts: ["seq": .integer(current)]))
        }
        return steps
    }

    private static func way(_ way: String) -> String {
        switch way {
        case "push": "a push"
        case "extension": "a push, in the service extension"
        case "live": "the connection, live"
        case "catchUp": "the connection, in a catch-up"
        default: way
        }
    }

    /// Why it is not among the messages.
    private var missing: TraceStep? {
        if let damage = message.damage {
            return TraceStep(
                place: .device, name: "damaged",
                text: "its row in the outbox was put aside: \(damage)")
        }
        guard trace.isKnown else { return nil }
        return TraceStep(place: .device, name: "not here", text: why(trace.seq))
    }

    /// Why this journal does not have a sequence of the channel.
    func why(_ seq: Int64?) -> String {
        if message.isFormer {
            return "it was received before the server's log was restored, and has left the journal"
        }
        guard let log = message.log else {
            return "this device does not follow the channel, so it receives nothing of it"
        }
        guard let seq else { return "no message with this id is among those received" }
        if let loss = log.loss(of: seq) { return "the server could not deliver it: \(loss)" }
        if log.coverage.contains(seq) {
            return "it was received, or the server had removed it; past the retention of this "
                + "journal nothing more is known"
        }
        return "not received: this journal has \(log.coverage.count) of \(log.head) sequences"
    }

    // MARK: Readers

    private func handled(_ reader: MessageReading.Reader) -> TraceStep {
        let attempts = reader.attempts.map { $0 == 1 ? "1 attempt" : "\($0) attempts" } ?? ""
        let why = reader.reason ?? "?"
        var (name, text) = ("handled", "by the reader \(reader.name)")
        switch reader.status {
        case .handled: break
        case .ahead:
            (name, text) = ("waiting", "the reader \(reader.name) has not come to it")
        case .dispatched:
            (name, text) = (
                "dispatched",
                "with the handler of \(reader.name), or it was when its process died"
            )
        case .waiting(let time):
            (name, text) = (
                "waiting",
                "for another attempt of \(reader.name) at \(time.dayAndTime), after \(attempts): "
                    + why
            )
        case .dead: (name, text) = ("dead letter", "of \(reader.name), after \(attempts): \(why)")
        case .unconfirmed:
            (name, text) = (
                "unconfirmed", "\(reader.name) forbids a second attempt after a kill: \(why)"
            )
        }
        return TraceStep(
            place: .device, name: name, text: text,
            facts: [
                "reader": .text(reader.name), "attempts": .integer(reader.attempts),
                "reason": .text(reader.reason),
            ])
    }

    // MARK: Notices

    private var notice: [TraceStep] {
        if let decided = trace.notice.decided {
            return [Self.decided(decided, isTapped: !trace.notice.taps.isEmpty)]
        }
        if let time = trace.notice.shownByExtension {
            return [
                TraceStep(
                    place: .device, at: time, name: "notice",
                    text: "shown by the service extension; the app has not looked since")
            ]
        }
        guard message.received != nil else { return [] }
        let why =
            if !trace.notice.isWatched {
                "none: notices are off, or do not watch this channel"
            } else if !trace.notice.isPassed {
                "not decided yet"
            } else {
                "no decision kept: a change, one that asks for no notice, one beyond the newest "
                    + "of a catch-up, or decided more than \(NoticeLimits.keptDays) days ago"
            }
        return [TraceStep(place: .device, name: "notice", text: why)]
    }

    private static func decided(_ decided: NoticesReading.Decided, isTapped: Bool) -> TraceStep {
        TraceStep(
            place: .device, at: decided.at, name: "notice",
            text: "\(decided.standing), \(decided.words(isTapped: isTapped))",
            facts: [
                "standing": .text(decided.standing), "by": .text(decided.way),
                "reason": .text(decided.reason), "ended": .text(decided.ended),
                "presentation": .integer(Int64(decided.presentation.rawValue)),
            ])
    }

    private func tapped(_ tap: NoticeTrace.Tap) -> TraceStep {
        let why = tap.reason.map { " (\($0))" } ?? ""
        let what = tap.resolution.map { ": \($0)\(why)" } ?? ", not resolved yet"
        return TraceStep(
            place: .device, at: tap.at, name: "tap", text: tap.action + what,
            facts: [
                "action": .text(tap.action), "resolution": .text(tap.resolution),
                "reason": .text(tap.reason), "presented": .time(tap.presented),
            ])
    }

    // MARK: Receipts

    private var receipts: [TraceStep] {
        guard let log = message.log, let seq = message.received?.current ?? message.sent?.seq
        else { return [] }
        var steps: [TraceStep] = []
        if log.read >= seq {
            steps.append(
                TraceStep(place: .device, name: "read", text: "by this user, here or elsewhere"))
        }
        if let step = Self.receipts(log.positions, of: seq, in: .device) { steps.append(step) }
        return steps
    }

    /// The users who have received or read a sequence, by their positions.
    static func receipts(
        _ positions: [ServerFrame.Position], of seq: Int64, in place: TraceStep.Place
    ) -> TraceStep? {
        let read = positions.filter { $0.read >= seq }.map(\.user.text)
        let delivered = positions.filter { $0.read < seq && $0.delivered >= seq }.map(\.user.text)
        let parts = [("read by ", read), ("delivered to ", delivered)].filter { !$1.isEmpty }
        guard !parts.isEmpty else { return nil }
        return TraceStep(
            place: place, name: "receipts",
            text: parts.map { $0 + names($1) }.joined(separator: "; "),
            facts: [
                "read": .integer(Int64(read.count)),
                "delivered": .integer(Int64(read.count + delivered.count)),
            ])
    }

    /// The first of some names, and how many others there are.
    static func names(_ names: [String]) -> String {
        let shown = names.prefix(10).joined(separator: ", ")
        return names.count > 10 ? "\(shown) and \(names.count - 10) more" : shown
    }
}
