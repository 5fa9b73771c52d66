import Crypto
import Foundation
import GRDBSQLite
import Logging
import RepriseCore
import Synchronization

/// Compares what entries came to with what they came to at the other gateways, every
/// ``ClusterLimits/checkEvery`` of the journal's time.
///
/// All gateways have the same entries in such a span, since the journal's time is theirs all. Each
/// says a digest of what these came to; one that says another has another view. A gateway is not
/// ready until its view is made anew if more than half of those that are there agree on another
/// digest, of three or more; of two, both are not until one view is.
package final class ResultChecks: Sendable {
    fileprivate struct Span {
        /// Which one: the journal's time, divided.
        let number: Int64
        let first: Int64
        var last: Int64
        var hash = SHA256()
        /// Whether it is seen from its first entry on.
        let isWhole: Bool
    }

    fileprivate struct Comparison {
        let mine: ResultCheck
        /// By session.
        var said: [Int64: ResultCheck] = [:]

        var others: [ResultCheck] {
            said.values.filter { $0.digest != mine.digest }.sorted { $0.name < $1.name }
        }

        /// Whether most have what this one has.
        var isMine: Bool { 2 * (said.count - others.count) > said.count }

        /// Whether more than half of these gateways agree on what this one does not have.
        ///
        /// One that has said nothing yet may have the same as this one.
        func isOutvoted(among present: Set<Int64>) -> Bool {
            // Of two nobody knows which one is wrong.
            guard said.count > 2 else { return false }
            let most = Dictionary(grouping: others, by: \.digest).values.map(\.count).max() ?? 0
            return 2 * most > present.union(said.keys).count
        }

        /// Whether all of these gateways have what this one has.
        func isAgreed(among present: Set<Int64>) -> Bool {
            others.isEmpty && present.isSubset(of: said.keys)
        }

        /// Whether those of these gateways that have said something agree.
        ///
        /// A view that is made anew has another session. As long as both sessions are there, equal
        /// results of later entries do not mean that their views are equal.
        func isOver(among present: Set<Int64>) -> Bool {
            Set(said.filter { present.contains($0.key) }.values.map(\.digest)).count <= 1
        }
    }

    fileprivate struct State {
        var span: Span?
        /// The newest, by their last entries.
        var compared: [Int64: Comparison] = [:]
        /// The oldest one that differs, of those of which most is said.
        var differing: Comparison?
        /// Why this view is the wrong one, as far as it is known.
        var told: String?
        /// The last entry of the span that told it, if that was in this life.
        var toldBy: Int64?
        /// The newest checks of this gateway that are not in the journal, oldest first.
        var unsaid: [ResultCheck] = []
        /// Whether some of them are on their way there.
        var isSaying = false
    }

    /// The most spans that are compared, or whose checks wait to be said.
    private static let spans = 64
    /// The version of SQLite that this process uses.
    static let sqlite = String(cString: sqlite3_libversion())

    private let name: String
    private let note: URL
    private let present: @Sendable () -> Set<Int64>
    private let submit: CommandSubmission
    private let logger: Logger
    private let state: Mutex<State>

    /// In `folder`, of the view, it is noted that it differs: that goes with it.
    ///
    /// - Parameters:
    ///   - name: of this gateway, for people.
    ///   - folder: the view's.
    ///   - present: the sessions of the gateways that are there, this one too.
    ///   - submit: says its checks.
    ///   - logger: receives what differs.
    init(
        name: String, in folder: String, present: @escaping @Sendable () -> Set<Int64>,
        submit: @escaping CommandSubmission, logger: Logger
    ) {
        self.name = name
        note = URL(fileURLWithPath: folder).appending(path: "view.differs")
        self.present = present
        self.submit = submit
        self.logger = logger
        var state = State()
        state.told = (try? String(contentsOf: note, encoding: .utf8))?.limited(to: 500)
        self.state = Mutex(state)
    }

    /// Why this gateway is not ready; nil while others have what it has.
    package var problem: String? {
        state.withLock { state in
            guard let differing = state.differing, !differing.isMine else { return state.told }
            return Self.text(differing)
        }
    }

    fileprivate static func text(_ found: Comparison) -> String {
        let names = found.others.prefix(4).map(\.name).joined(separator: ", ")
        let equal = found.said.count - found.others.count
        return "From entry \(found.mine.first) on this gateway (\(found.mine.name)) and \(names) "
            + "have different results: \(equal) of \(found.said.count) have what this one has. "
            + "Remove the view of the one that is alone with its own."
    }

    /// An entry is applied, in order; does not block.
    package func applied(_ entry: AppliedEntry) {
        var checks: [ResultCheck] = []
        for case .checked(let check) in entry.outcomes { checks.append(check) }
        let present = checks.isEmpty ? [] : self.present()
        let (isFirst, found, isDecided) = state.withLock { state -> (Bool, String?, Bool) in
            let ended = state.take(entry, name)
            var differs = false
            for check in checks where state.heard(check, from: entry.session, among: present) {
                differs = true
            }
            let isDecided = !checks.isEmpty && state.decide(among: present)
            let found = differs ? state.differing.map(Self.text) : nil
            if state.compared.count > Self.spans, let oldest = state.compared.keys.min() {
                state.compared[oldest] = nil
            }
            guard let ended else { return (false, found, isDecided) }
            state.unsaid.append(ended)
            state.unsaid.removeFirst(max(0, state.unsaid.count - Self.spans))
            defer { state.isSaying = true }
            return (!state.isSaying, found, isDecided)
        }
        if let found {
            logger.error("the results of gateways differ", metadata: ["what": "\(found)"])
        }
        if isDecided { keepNote() }
        if isFirst { Task { await say() } }
    }

    /// One submission at a time: it counts once this gateway has caught up.
    ///
    /// What ends meanwhile is said behind it: the others need all checks of a span to know who is
    /// right. No clock decides: an idle gateway is there by its checks alone.
    private func say() async {
        while let checks = state.withLock({ $0.nextChecks() }) {
            do {
                _ = try await submit(checks.map { .checked($0) })
            } catch {
                // They are said with the next one.
                return state.withLock { state in
                    state.unsaid.insert(contentsOf: checks, at: 0)
                    state.isSaying = false
                }
            }
        }
    }

    /// A restart makes no wrong view right.
    private func keepNote() {
        if let told = state.withLock(\.told) {
            try? Data(told.utf8).write(to: note)
        } else {
            try? FileManager.default.removeItem(at: note)
        }
    }
}

extension ResultChecks.State {
    /// Takes what is to be said now; nil: nothing is.
    fileprivate mutating func nextChecks() -> [ResultCheck]? {
        defer { unsaid = [] }
        isSaying = !unsaid.isEmpty
        return isSaying ? unsaid : nil
    }

    /// - Returns: the check of a span that has ended.
    fileprivate mutating func take(_ entry: AppliedEntry, _ name: String) -> ResultCheck? {
        let number = entry.time.milliseconds / ClusterLimits.checkEvery.milliseconds
        var ended: ResultCheck?
        if let span, span.number != number {
            if span.isWhole {
                let check = ResultCheck(
                    first: span.first, last: span.last, digest: Array(span.hash.finalize()),
                    name: name, sqlite: ResultChecks.sqlite)
                compared[span.last] = .init(mine: check)
                ended = check
            }
            self.span = .init(
                number: number, first: entry.sequence, last: entry.sequence, isWhole: true)
        }
        if span == nil {
            span = .init(
                number: number, first: entry.sequence, last: entry.sequence,
                isWhole: entry.sequence == 1)
        }
        var writer = BinaryWriter()
        entry.write(to: &writer)
        span?.hash.update(data: writer.bytes)
        span?.last = entry.sequence
        return ended
    }

    /// - Returns: whether something new differs.
    fileprivate mutating func heard(
        _ check: ResultCheck, from session: Int64, among present: Set<Int64>
    ) -> Bool {
        guard var found = compared[check.last], found.mine.first == check.first,
            found.said.count < ClusterLimits.sessions
        else { return false }
        found.said[session] = check.shortened
        compared[check.last] = found
        guard !found.others.isEmpty else {
            if let differing, found.mine.last > differing.mine.last,
                differing.isOver(among: present), found.isAgreed(among: present)
            {
                self.differing = nil
            }
            return false
        }
        // Of the first one all that is said counts, unless of a later one more is.
        if let differing, found.mine.last > differing.mine.last,
            found.said.count <= differing.said.count
        {
            return false
        }
        differing = found
        return true
    }

    /// Decides whether this view is the wrong one, from what is said of the first difference.
    ///
    /// - Returns: whether that is decided otherwise than before.
    fileprivate mutating func decide(among present: Set<Int64>) -> Bool {
        let former = told
        if let last = toldBy, compared[last]?.isMine == true { (told, toldBy) = (nil, nil) }
        if let differing, told == nil || toldBy == differing.mine.last,
            differing.isOutvoted(among: present)
        {
            (told, toldBy) = (ResultChecks.text(differing), differing.mine.last)
        }
        return told != former
    }
}
