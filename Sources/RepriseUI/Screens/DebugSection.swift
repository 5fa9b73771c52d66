import Foundation
public import Reprise

/// A part of the debug screen.
public struct DebugSection: Identifiable, Hashable, Sendable {
    /// A line of it.
    public struct Row: Identifiable, Hashable, Sendable {
        /// Unique in its section.
        public let id: String
        /// The name of the figure.
        public let title: String
        /// Its value.
        public let value: String
        /// More of it; nil: nothing.
        public let detail: String?
        /// How it stands out.
        public let tone: RowTone
        /// The dead letter that it is about, which can be sent again or withdrawn; nil: none.
        public let letter: EntryID?

        init(
            _ title: String, _ value: String, detail: String? = nil, _ tone: RowTone = .plain,
            id: String? = nil, letter: EntryID? = nil
        ) {
            self.id = id ?? title
            self.title = title
            self.value = value
            self.detail = detail
            self.tone = tone
            self.letter = letter
        }
    }

    /// Its title, which is unique.
    public let id: String
    /// Its lines.
    public let rows: [Row]
}

/// What the debug screen shows of a client's figures; never a body or a token.
struct DebugText {
    /// The most channels that are listed, those with faults first.
    static let channels = 100
    /// The most ranges of a channel that are named.
    static let ranges = 8

    var zone: TimeZone
    var now: WallTime

    func sections(
        _ state: ClientState, _ connection: ConnectionState, _ figures: ClientDiagnostics?
    ) -> [DebugSection] {
        var sections = [
            DebugSection(id: "Client", rows: client(state)),
            DebugSection(id: "Connection", rows: rows(connection, figures?.connection)),
        ]
        if let figures {
            sections += [
                DebugSection(id: "Coverage", rows: coverage(figures)),
                DebugSection(id: "Outbox", rows: outbox(figures)),
                DebugSection(id: "Ledger", rows: ledger(figures.ledger)),
            ]
        }
        return sections
    }

    // MARK: Client and connection

    private func client(_ state: ClientState) -> [DebugSection.Row] {
        switch state {
        case .idle: [.init("Journal", "not needed yet")]
        case .opening: [.init("Journal", "is being opened", .waiting)]
        case .waiting(let error): [fault("Journal", "cannot be opened now", error, .waiting)]
        case .failed(let error): [fault("Journal", "cannot be opened", error, .bad)]
        case .closed: [.init("Journal", "closed")]
        case .open(let user):
            [.init("Journal", "open", .good), .init("User", user?.text ?? "nobody")]
        }
    }

    private func fault(
        _ title: String, _ value: String, _ error: RepriseError, _ tone: RowTone
    ) -> DebugSection.Row {
        .init(title, value, detail: [error.message, error.remedy].said, tone)
    }

    private func rows(
        _ state: ConnectionState, _ figures: ConnectionDiagnostics?
    ) -> [DebugSection.Row] {
        var rows = [connection(state)]
        guard let figures else { return rows }
        if let since = figures.connectedSince {
            rows.append(.init("Connected", "for \(since.duration(to: now).shown)"))
        }
        rows += [
            .init("Reconnects", "\(figures.reconnects)"),
            .init("Frames received", "\(figures.framesRead)"),
        ]
        if figures.unroutableFrames > 0 {
            rows.append(.init("Unroutable frames", "\(figures.unroutableFrames)", .bad))
        }
        if let error = figures.lastError {
            rows.append(
                .init("Last error", error.code.name, detail: [error.message, error.remedy].said))
        }
        return rows
    }

    private func connection(_ state: ConnectionState) -> DebugSection.Row {
        switch state {
        case .idle: .init("State", "idle")
        case .connecting: .init("State", "connecting", .waiting)
        case .connected: .init("State", "connected", .good)
        case .expiring(let error): fault("State", "connected, the token ends", error, .waiting)
        case .stuck(let error): fault("State", "stuck: nothing can be written", error, .bad)
        case .waiting(let delay, let why):
            .init("State", "next attempt in \(delay.shown)", detail: why.description, .waiting)
        case .offline: .init("State", "no network", .waiting)
        case .suspended: .init("State", "suspended: in the background")
        case .stopped(let why): .init("State", "stopped", detail: why.description, .bad)
        }
    }

    // MARK: Coverage

    private func coverage(_ figures: ClientDiagnostics) -> [DebugSection.Row] {
        let rows = figures.channels.map { name, channel in row(name, channel) }
        let sorted = rows.sorted { left, right in
            (left.tone.weight, left.title) < (right.tone.weight, right.title)
        }
        guard sorted.count > Self.channels else { return sorted }
        let rest = sorted.count - Self.channels
        return sorted.prefix(Self.channels)
            + [.init("…", "\(Int64(rest).counted("channel")) more", id: "more channels")]
    }

    private func row(_ name: ChannelName, _ channel: ChannelDiagnostics) -> DebugSection.Row {
        let (state, tone) = words(channel.state)
        let covered = channel.coverage.ranges.prefix(Self.ranges).map { range in
            range.count == 1 ? "\(range.through)" : "\(range.after + 1)–\(range.through)"
        }
        let more = channel.coverage.ranges.count - covered.count
        let ranges =
            covered.isEmpty
            ? "has nothing"
            : "has " + covered.joined(separator: ", ")
                + (more > 0 ? " and \(more) more ranges" : "")
        let duplicates =
            channel.duplicates > 0 ? ", \(channel.duplicates.counted("duplicate"))" : ""
        return .init(
            name.text, state,
            detail: [
                "\(ranges) of \(channel.head)",
                channel.missing > 0 ? "\(channel.missing) missing" : nil,
                "\(channel.received) received\(duplicates)", channel.lastError,
            ].said,
            // It may be over.
            channel.lastError != nil && tone == .good ? .waiting : tone)
    }

    private func words(_ state: ChannelState) -> (String, RowTone) {
        switch state {
        case .closed: ("closed", .plain)
        case .subscribing: ("subscribing", .waiting)
        case .catchingUp(let received, let total):
            ("catching up, \(received) of \(total)", .waiting)
        case .live: ("live", .good)
        case .repairing(let missing): ("repairing \(missing)", .waiting)
        case .stalled(let missing): ("stalled, \(missing) missing", .bad)
        case .beyondRetention(let lost): ("\(lost) lost to retention", .bad)
        case .refused(let code, _): ("refused: \(code)", .bad)
        }
    }

    // MARK: Outbox and ledger

    private func outbox(_ figures: ClientDiagnostics) -> [DebugSection.Row] {
        [.init("Waiting", "\(figures.waiting)", figures.waiting > 0 ? .waiting : .plain)]
            + figures.deadLetters.map { letter in
                .init(
                    letter.channel.text, letter.code.map { "\($0)" } ?? "not sent",
                    detail: [letter.reason, letter.recordedAt.shown(in: zone)].said, .bad,
                    id: letter.id.text, letter: letter.id)
            }
    }

    private func ledger(_ sum: LedgerSum) -> [DebugSection.Row] {
        var rows: [DebugSection.Row] = [
            .init("Accepted", "\(sum.accepted)"), .init("Pending", "\(sum.pending)"),
        ]
        for outcome in Outcome.allCases {
            guard let count = sum.outcomes[outcome], count > 0 else { continue }
            let isBad = outcome == .dead || outcome == .unconfirmed
            rows.append(.init(outcome.rawValue.capitalized, "\(count)", isBad ? .bad : .plain))
        }
        rows += [
            .init("Duplicates", "\(sum.duplicates)"),
            .init("Adds up", sum.isBalanced ? "yes" : "no", sum.isBalanced ? .good : .bad),
        ]
        return rows
            + sum.lost.enumerated().map { place, loss in
                .init(
                    "Lost in \(loss.channel)", loss.count.map { "\($0)" } ?? "unknown",
                    detail: loss.reason, .bad, id: "lost \(place)")
            }
    }
}

extension RowTone {
    /// What needs attention comes first.
    fileprivate var weight: Int {
        switch self {
        case .bad: 0
        case .waiting: 1
        case .good, .plain: 2
        }
    }
}

extension [String?] {
    /// Its sentences, one after the other; nil: none.
    fileprivate var said: String? {
        let sentences = compactMap(\.self).filter { !$0.isEmpty }
        return sentences.isEmpty ? nil : sentences.joined(separator: " · ")
    }
}
