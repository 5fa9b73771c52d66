import DequeModule
package import RepriseWire

/// Decides which requests of a connection are processed now, and which wait for the user's grant in
/// their channel.
///
/// A grant (`Grant`) is looked up once and cached until it changes. Requests of a channel keep
/// their order and do not block those of others. An empty grant is not cached: the channel may be
/// made, or the user added, later.
package struct AuthorizationCache<Request, Grant> {
    /// A lookup of a grant; the answer carries the ticket.
    package struct Question: Hashable, Sendable {
        package let channel: ChannelName
        let ticket: UInt32
    }

    private enum Entry {
        case known(Grant)
        /// `ticket` of the newest lookup: an older answer may precede a change.
        case asking(ticket: UInt32, waiting: [Request])
    }

    private let remembered: Int
    private var entries: [ChannelName: Entry] = [:]
    private var knownCount = 0
    private var unaskedFirst = Deque<Question>()
    private var unasked = Deque<Question>()
    private var isAsking = false
    private var ticket: UInt32 = 0
    /// The number of waiting requests.
    package private(set) var waitingCount = 0

    /// - Parameter remembered: the most cached grants; at the limit the cache is emptied.
    package init(remembered: Int) { self.remembered = remembered }

    /// A request arrived; a `first` one is looked up before the others.
    ///
    /// - Returns: the grant, if known: the request is processed now; nil if it waits, see
    ///   ``nextQuestions(_:)``.
    package mutating func arrived(
        _ request: Request, in channel: ChannelName, first isFirst: Bool = false
    ) -> Grant? {
        switch entries[channel] {
        case .known(let grant): return grant
        case .asking(let ticket, var waiting):
            entries[channel] = nil  // or the array is copied
            waiting.append(request)
            entries[channel] = .asking(ticket: ticket, waiting: waiting)
            // It is in both queues then, and is looked up where it comes first.
            if isFirst { unaskedFirst.append(Question(channel: channel, ticket: ticket)) }
        case nil: ask(channel, [request], first: isFirst)
        }
        waitingCount += 1
        return nil
    }

    /// Whether requests of the channel wait.
    package func isAsking(_ channel: ChannelName) -> Bool {
        if case .asking = entries[channel] { true } else { false }
    }

    /// The next lookups; none while earlier ones are in flight.
    package mutating func nextQuestions(_ limit: Int) -> [Question] {
        guard !isAsking else { return [] }
        var questions: [Question] = []
        while questions.count < limit, let question = unaskedFirst.popFirst() ?? unasked.popFirst()
        {
            guard case .asking(question.ticket, _) = entries[question.channel],
                !questions.contains(question)
            else { continue }
            questions.append(question)
        }
        isAsking = !questions.isEmpty
        return questions
    }

    /// All lookups in flight have been answered, one after the other by ``answered(_:_:)``.
    package mutating func questionsEnded() { isAsking = false }

    /// A lookup was answered.
    ///
    /// - Parameters:
    ///   - question: the lookup.
    ///   - grant: the user's grant; nil if it is empty, or the lookup failed.
    /// - Returns: the requests that waited for it, in order; empty if the answer precedes a change
    ///   and is looked up again.
    package mutating func answered(_ question: Question, _ grant: Grant?) -> [Request] {
        guard case .asking(question.ticket, let waiting) = entries[question.channel] else {
            return []
        }
        entries[question.channel] = nil
        waitingCount -= waiting.count
        if let grant { remember(grant, question.channel) }
        return waiting
    }

    /// The user's grant in the channel has changed, or may have.
    package mutating func changed(_ channel: ChannelName) {
        switch entries[channel] {
        case nil: break
        case .known:
            entries[channel] = nil
            knownCount -= 1
        case .asking(_, let waiting): ask(channel, waiting)
        }
    }

    /// The connection's user or its rights have changed.
    package mutating func allChanged() { for channel in Array(entries.keys) { changed(channel) } }

    // MARK: -

    private mutating func ask(
        _ channel: ChannelName, _ waiting: [Request], first isFirst: Bool = false
    ) {
        ticket &+= 1
        entries[channel] = .asking(ticket: ticket, waiting: waiting)
        let question = Question(channel: channel, ticket: ticket)
        if isFirst { unaskedFirst.append(question) } else { unasked.append(question) }
    }

    private mutating func remember(_ grant: Grant, _ channel: ChannelName) {
        if knownCount >= remembered {
            entries = entries.filter { if case .known = $0.value { false } else { true } }
            knownCount = 0
        }
        entries[channel] = .known(grant)
        knownCount += 1
    }
}
