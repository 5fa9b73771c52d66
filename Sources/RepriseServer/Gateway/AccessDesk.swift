package import RepriseWire

/// Decides which requests of a connection may be looked at now, and which wait because nobody knows
/// yet what the user may do in their channel.
///
/// What a user may do in a channel (`Grant`) is asked once and remembered until it changes. The
/// requests of a channel keep their order; those of other channels don't wait for them. What allows
/// nothing is not remembered: the channel may be made, or the user let in, later.
package struct AccessDesk<Request, Grant> {
    /// What is to be asked; the answer is to name the ticket.
    package struct Question: Hashable, Sendable {
        package let channel: ChannelName
        let ticket: UInt32
    }

    private enum Entry {
        case known(Grant)
        /// `ticket` of the newest question: an older answer may be from before a change.
        case asking(ticket: UInt32, waiting: [Request])
    }

    private let remembered: Int
    private var entries: [ChannelName: Entry] = [:]
    private var knownCount = 0
    private var unaskedFirst = Line<Question>()
    private var unasked = Line<Question>()
    private var isAsking = false
    private var ticket: UInt32 = 0
    /// How many requests wait.
    package private(set) var waitingCount = 0

    /// - Parameter remembered: the most answers that are remembered; at the bound all are
    ///   forgotten, and asked again when they are needed.
    package init(remembered: Int) { self.remembered = remembered }

    /// A request came; one that is `first` is asked about before the others.
    ///
    /// - Returns: what is known, and then it is to be looked at now; nil if it waits, see
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
            // It stands in both lines then, and is asked where it comes up first.
            if isFirst { unaskedFirst.join(Question(channel: channel, ticket: ticket)) }
        case nil: ask(channel, [request], first: isFirst)
        }
        waitingCount += 1
        return nil
    }

    /// Whether requests of the channel wait.
    package func isAsking(_ channel: ChannelName) -> Bool {
        if case .asking = entries[channel] { true } else { false }
    }

    /// What is to be asked now; nothing while an earlier question is open.
    package mutating func nextQuestions(_ limit: Int) -> [Question] {
        guard !isAsking else { return [] }
        var questions: [Question] = []
        while questions.count < limit, let question = unaskedFirst.next() ?? unasked.next() {
            guard case .asking(question.ticket, _) = entries[question.channel],
                !questions.contains(question)
            else { continue }
            questions.append(question)
        }
        isAsking = !questions.isEmpty
        return questions
    }

    /// All open questions have been answered, one after the other by ``answered(_:_:)``.
    package mutating func questionsEnded() { isAsking = false }

    /// A question was answered.
    ///
    /// - Parameters:
    ///   - question: which.
    ///   - grant: what the user may do; nil if that is nothing, or could not be found out.
    /// - Returns: what waited for it, in order; empty if the answer is of before a change and was
    ///   asked again.
    package mutating func answered(_ question: Question, _ grant: Grant?) -> [Request] {
        guard case .asking(question.ticket, let waiting) = entries[question.channel] else {
            return []
        }
        entries[question.channel] = nil
        waitingCount -= waiting.count
        if let grant { remember(grant, question.channel) }
        return waiting
    }

    /// What the user may do in the channel has changed, or may have.
    package mutating func changed(_ channel: ChannelName) {
        switch entries[channel] {
        case nil: break
        case .known:
            entries[channel] = nil
            knownCount -= 1
        case .asking(_, let waiting): ask(channel, waiting)
        }
    }

    /// Somebody else asks from now on, or with other rights.
    package mutating func allChanged() { for channel in Array(entries.keys) { changed(channel) } }

    // MARK: -

    private mutating func ask(
        _ channel: ChannelName, _ waiting: [Request], first isFirst: Bool = false
    ) {
        ticket &+= 1
        entries[channel] = .asking(ticket: ticket, waiting: waiting)
        let question = Question(channel: channel, ticket: ticket)
        if isFirst { unaskedFirst.join(question) } else { unasked.join(question) }
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
