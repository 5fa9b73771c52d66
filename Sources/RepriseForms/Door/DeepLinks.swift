public import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// A place in the app that a form leads to.
public struct DeepLink: Hashable, Sendable, Identifiable {
    /// The id that it was recorded with: the same link comes again with the same id if the process died over it.
    public let id: EntryID
    /// Where it leads; never `javascript:` or another scheme that runs or holds content.
    public let url: String
    /// The form whose button was pressed.
    public let form: String
    /// How often it was handed over, this time included.
    public let attempt: Int
}

/// The deep links of forms, each handed over until the loop asks for the next.
///
/// ```swift
/// for await link in forms.deepLinks { await router.open(link.url) }
/// ```
///
/// A link over which the process dies, or whose loop ends, comes again. Several loops share the links.
public struct DeepLinks: AsyncSequence, Sendable {
    /// What it brings.
    public typealias Element = DeepLink

    let queue: LinkQueue

    /// Begins to take links.
    public func makeAsyncIterator() -> Iterator { Iterator(hand: LinkQueue.Hand(queue)) }

    /// Takes one link after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let hand: LinkQueue.Hand

        /// Says that the link before is done with, and waits for the next.
        ///
        /// - Returns: nil when the task is cancelled.
        public mutating func next() async -> DeepLink? { await hand.next() }
    }
}

/// Links that the journal has handed over and nobody has taken, and those who wait for one.
final class LinkQueue: Sendable {
    private struct State {
        var isOpen = false
        var links: [Lent] = []
        var waiting: [Int: CheckedContinuation<Lent?, Never>] = [:]
        var cancelled: Set<Int> = []
        var nextID = 0
    }

    private let journal: Journal
    private let state = Mutex(State())

    init(journal: Journal) { self.journal = journal }

    /// The link in one loop's hand; given back when the loop ends.
    final class Hand: Sendable {
        private let queue: LinkQueue
        private let held = Mutex<Lent?>(nil)

        init(_ queue: LinkQueue) { self.queue = queue }

        deinit { held.withLock { $0 }?.end(as: .back(reason: "The loop over the links ended.")) }

        func next() async -> DeepLink? {
            held.withLock { $0.take() }?.end()
            while let lent = await queue.take() {
                guard let link = DeepLink(lent.entry) else {
                    lent.end(HandOverFailure.permanent("It is no deep link."))
                    continue
                }
                held.withLock { $0 = lent }
                return link
            }
            return nil
        }
    }

    /// The journal hands links over from the first loop on: without one they would only be in hand.
    private func begin() {
        let isFirst = state.withLock { state in
            defer { state.isOpen = true }
            return !state.isOpen
        }
        guard isFirst else { return }
        journal.handleBatches(of: FormsEvent.link) { [weak self] batch in
            for lent in batch { self?.put(lent) }
        }
    }

    private func put(_ lent: Lent) {
        let waiting = state.withLock { state -> CheckedContinuation<Lent?, Never>? in
            guard let first = state.waiting.keys.min() else {
                state.links.append(lent)
                return nil
            }
            return state.waiting.removeValue(forKey: first)
        }
        waiting?.resume(returning: lent)
    }

    private func take() async -> Lent? {
        begin()
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let found: Lent?? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .some(nil) }
                    if !state.links.isEmpty { return state.links.removeFirst() }
                    state.waiting[id] = continuation
                    return nil
                }
                if let found { continuation.resume(returning: found) }
            }
        } onCancel: {
            let waiting = state.withLock { state -> CheckedContinuation<Lent?, Never>? in
                if let waiting = state.waiting.removeValue(forKey: id) { return waiting }
                state.cancelled.insert(id)
                return nil
            }
            waiting?.resume(returning: nil)
        }
    }
}

extension DeepLink {
    /// The schemes that run something, or hold what they lead to.
    private static let refused: Set<String> = ["javascript", "data", "vbscript", "file", "blob"]

    fileprivate init?(_ entry: Entry) {
        let parts = try? JSONMembers.read(entry.payload) { members in
            (url: try members.string("url"), form: try members.string("form"))
        }
        guard let parts else { return nil }
        self.init(id: entry.id, url: parts.url, form: parts.form, attempt: entry.attempt)
    }

    /// Whether an app may be sent there.
    static func isAllowed(_ url: String) -> Bool {
        guard url.utf8.count <= FormsDoorLimits.deepLink, let end = url.firstIndex(of: ":") else {
            return false
        }
        let scheme = url[..<end].utf8
        let isName = scheme.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard let first = scheme.first, UInt8(ascii: "a") <= first, first <= UInt8(ascii: "z"),
            isName
        else { return false }
        return !refused.contains(String(url[..<end]))
    }
}
