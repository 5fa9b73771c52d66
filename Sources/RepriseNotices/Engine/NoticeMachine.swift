package import RepriseCore
package import RepriseWire

/// The state of showing one message; decides the reaction to each event, in any order.
///
/// `nothing → asked → standing → gone`, or `silent` where nothing is shown. The push, the socket,
/// an extension's record, the system's list and a read on another device race here; each is an
/// event, and a message has one machine whatever delivered it.
package struct NoticeMachine: Hashable, Sendable {
    /// The state of the message's notification.
    package enum Status: Int64, Hashable, Sendable, CaseIterable {
        /// Requested from the system; after a kill its outcome is uncertain.
        case asked = 0
        /// Delivered: in the notification centre.
        case standing = 1
        /// It stood there.
        case gone = 2
        /// Decided not to be shown.
        case silent = 3
    }

    /// The first source of the message.
    package enum Way: String, Hashable, Sendable, CaseIterable {
        case push, `extension`, live, catchUp
    }

    package enum Event: Hashable, Sendable {
        /// The journal has it now.
        case stored(NoticeDecision, Way)
        /// The system asks how to show a push of it, in the foreground.
        case pushArrived(NoticeDecision)
        /// The system asks how to show this feature's own notification, in the foreground.
        case localArrived(NoticeDecision)
        /// An extension has recorded that it showed it.
        case extensionShowed(PresentationOptions, reason: String)
        /// It is in the notification centre.
        case found(isRemote: Bool)
        /// It is not in the notification centre.
        case missing
        /// The requesting process has died, and the notification is missing; decided again, as if
        /// nothing had been shown.
        case lost(NoticeDecision)
        /// The system has not taken it and said so; the decision is made again.
        case failed(NoticeDecision)
        /// The system has taken it.
        case taken
        /// The system would not take it.
        case refused
        /// It is obsolete: read, deleted, visible on the screen, or its channel was left.
        case ended(String)
        /// The person has tapped it or put it away.
        case touched(String)
    }

    /// The reason of a message that the system had shown before anything here heard of it.
    package static let foundReason = "found"

    package struct Step: Hashable, Sendable {
        /// The system is to be asked to show it.
        package var shows = false
        /// Remove it from the notification centre.
        package var removes = false
        /// The presentation that the system asked for.
        package var options: PresentationOptions = []
        /// The person was alerted a second time.
        package var isSecondAlert = false
        /// Shown again although it may have been shown before.
        package var isAgain = false

        package init() {}
    }

    package var standing: Status
    package var way: Way
    package var reason: String
    package var presentation: PresentationOptions
    /// Whether it is a push, which carries the server's text and count.
    package var isRemote = false
    /// How often it was heard of as an alert.
    package var alerts = 0
    package var unconfirmed = 0
    /// Why it is gone.
    package var ended: String?

    package init(
        standing: Status, way: Way, reason: String, presentation: PresentationOptions
    ) {
        self.standing = standing
        self.way = way
        self.reason = reason
        self.presentation = presentation
    }

    /// The facts of the message for a decision.
    package static func shown(_ machine: NoticeMachine?) -> NoticeState.Shown {
        switch machine?.standing {
        case nil: .never
        case .asked, .standing: .standing
        case .gone, .silent: .gone
        }
    }

    /// Whether it goes into the notification centre, or is at least seen once.
    private static func isVisible(_ options: PresentationOptions) -> Bool {
        !options.isDisjoint(with: [.banner, .list])
    }

    /// Handles an event.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - machine: nil: the message is unknown so far.
    /// - Returns: the actions, once `machine` is durable.
    package static func take(_ event: Event, _ machine: inout NoticeMachine?) -> Step {
        guard var known = machine else { return begin(event, &machine) }
        defer { machine = known }
        return known.take(event)
    }

    private static func begin(_ event: Event, _ machine: inout NoticeMachine?) -> Step {
        var step = Step()
        switch event {
        case .stored(let decision, let way):
            step.shows = isVisible(decision.presentation)
            machine = NoticeMachine(
                standing: step.shows ? .asked : .silent, way: way,
                reason: decision.reason.rawValue, presentation: decision.presentation)
        case .pushArrived(let decision):
            step.options = decision.presentation
            let stands = isVisible(decision.presentation)
            machine = NoticeMachine(
                standing: stands ? .standing : .silent, way: .push,
                reason: decision.reason.rawValue, presentation: decision.presentation)
            machine?.isRemote = stands
            machine?.alerts = stands ? 1 : 0
        case .extensionShowed(let presentation, let reason):
            // A notification silenced by an extension is in the list all the same.
            machine = NoticeMachine(
                standing: .standing, way: .extension, reason: reason, presentation: presentation)
            machine?.isRemote = true
            machine?.alerts = presentation.contains(.banner) ? 1 : 0
        case .found(let isRemote):
            machine = NoticeMachine(
                standing: .standing, way: .push, reason: foundReason,
                presentation: [.banner, .list])
            machine?.isRemote = isRemote
            machine?.alerts = 1
        case .touched(let how):
            machine = NoticeMachine(
                standing: .gone, way: .push, reason: foundReason,
                presentation: [.banner, .list])
            machine?.ended = how
            machine?.alerts = 1
        case .localArrived(let decision): step.options = decision.presentation
        case .missing, .lost, .failed, .taken, .refused, .ended: break
        }
        return step
    }

    private mutating func take(_ event: Event) -> Step {
        switch event {
        case .stored(let decision, _): return ended(by: decision)
        case .pushArrived(let decision): return pushArrived(decision)
        case .localArrived(let decision): return localArrived(decision)
        case .extensionShowed(let options, let why):
            guard reason == Self.foundReason else {
                return alerted(options.contains(.banner), isRemote: true)
            }
            // The record of an alert that the system's list, or a tap, has told of.
            isRemote = true
            if standing == .standing { (way, reason, presentation) = (.extension, why, options) }
            return Step()
        case .found(let isRemote): return found(isRemote: isRemote)
        case .missing:
            if standing == .standing { end("notThere") }
            return Step()
        case .lost(let decision): return lost(decision, isKnown: false)
        case .failed(let decision): return lost(decision, isKnown: true)
        case .taken:
            if standing == .asked {
                standing = .standing
                alerts += presentation.contains(.banner) ? 1 : 0
            }
            return Step()
        case .refused:
            if standing == .asked {
                standing = .silent
                ended = "refused"
            }
            return Step()
        case .ended(let why):
            var step = Step()
            step.removes = standing == .asked || standing == .standing
            if step.removes { end(why) }
            return step
        case .touched(let how):
            end(how)
            return Step()
        }
    }

    private mutating func end(_ why: String) {
        standing = .gone
        ended = ended ?? why
    }

    /// It was shown before the journal had it: removed if a reason exists now.
    private mutating func ended(by decision: NoticeDecision) -> Step {
        var step = Step()
        guard standing == .standing || standing == .asked, decision.removesBanner else {
            return step
        }
        end(decision.reason.rawValue)
        step.removes = true
        return step
    }

    /// A push of a shown message is not shown again; in the foreground that is our decision.
    private mutating func pushArrived(_ decision: NoticeDecision) -> Step {
        var step = ended(by: decision)
        step.options = decision.presentation.subtracting([.banner, .list, .sound])
        return step
    }

    private mutating func localArrived(_ decision: NoticeDecision) -> Step {
        var step = Step()
        switch standing {
        case .asked, .standing:
            step = ended(by: decision)
            if !step.removes { step.options = presentation }
        case .gone, .silent: break
        }
        return step
    }

    /// The system has alerted the person by itself.
    private mutating func alerted(_ isAlert: Bool, isRemote remote: Bool) -> Step {
        var step = Step()
        if remote { isRemote = true }
        guard isAlert else { return step }
        alerts += 1
        step.isSecondAlert = alerts > 1
        return step
    }

    private mutating func found(isRemote remote: Bool) -> Step {
        var step = Step()
        switch standing {
        case .asked:
            standing = .standing
            alerts += presentation.contains(.banner) ? 1 : 0
            isRemote = remote
        case .standing:
            // A push has taken the place of our own, and with its own sound.
            if remote, !isRemote { step = alerted(true, isRemote: true) }
        case .gone:
            guard ended != "notThere" else {
                standing = .standing
                ended = nil
                return step
            }
            // It was tapped or read; a kill came before it was taken away, or a push behind that.
            if remote, !isRemote { step = alerted(true, isRemote: true) }
            step.removes = true
        case .silent:
            guard reason != NoticeDecision.Reason.notPermitted.rawValue, ended == nil else {
                standing = .standing
                isRemote = remote
                return alerted(true, isRemote: remote)
            }
            // Shown without our decision: it is removed.
            step = alerted(true, isRemote: remote)
            step.removes = true
        }
        return step
    }

    /// Where `isKnown`, it was certainly not seen.
    private mutating func lost(_ decision: NoticeDecision, isKnown: Bool) -> Step {
        var step = Step()
        guard standing == .asked else { return step }
        guard Self.isVisible(decision.presentation) else {
            end(decision.reason.rawValue)
            return step
        }
        (reason, presentation) = (decision.reason.rawValue, decision.presentation)
        step.shows = true
        guard !isKnown else { return step }
        unconfirmed += 1
        step.isAgain = true
        return step
    }
}
