/// Something that should be in a phone's log.
public struct PhoneExpectation: Sendable, CustomStringConvertible {
    /// In words, for an error.
    public let description: String
    let isMet: @Sendable (PhoneEvent) -> Bool

    /// Describes an event.
    ///
    /// - Parameters:
    ///   - description: in words.
    ///   - isMet: whether an event matches.
    public init(_ description: String, isMet: @escaping @Sendable (PhoneEvent) -> Bool) {
        self.description = description
        self.isMet = isMet
    }

    func isMet(by event: PhoneEvent) -> Bool { isMet(event) }

    /// An event of the phone.
    ///
    /// - Parameters:
    ///   - what: its word.
    ///   - detail: the event's whole detail; nil is any.
    ///   - app: the app concerned; nil is any.
    /// - Returns: the expectation.
    public static func phone(
        _ what: PhoneEvent.What, _ detail: String? = nil, app: String? = nil
    ) -> PhoneExpectation {
        log(what.rawValue, detail, app: app)
    }

    /// An observation reported by an app.
    ///
    /// - Parameters:
    ///   - what: its word, without `app.`.
    ///   - detail: the event's whole detail; nil is any.
    ///   - app: the app concerned; nil is any.
    /// - Returns: the expectation.
    public static func report(
        _ what: String, _ detail: String? = nil, app: String? = nil
    ) -> PhoneExpectation {
        log("app." + what, detail, app: app)
    }

    /// An event in the log.
    ///
    /// - Parameters:
    ///   - what: its word.
    ///   - detail: its whole detail; nil is any.
    ///   - app: the app concerned; nil is any.
    /// - Returns: the expectation.
    public static func log(
        _ what: String, _ detail: String? = nil, app: String? = nil
    ) -> PhoneExpectation {
        PhoneExpectation("\(what) \(detail ?? "")") { event in
            event.what == what && (detail == nil || event.detail == detail)
                && (app == nil || event.app == app)
        }
    }

    /// A form on the screen: the app has reported `formDidAppear` with its id.
    ///
    /// - Parameters:
    ///   - id: the form's.
    ///   - app: the app concerned; nil is any.
    /// - Returns: the expectation.
    public static func form(_ id: String, app: String? = nil) -> PhoneExpectation {
        report("formDidAppear", id, app: app)
    }
}

/// An expectation of a phone that was not met, or an unexpected event.
public struct PhoneUnmetExpectation: Error, CustomStringConvertible {
    /// The expectation, and the newest events.
    public let description: String

    init(_ expectation: PhoneExpectation, _ limit: Duration?, _ events: [PhoneEvent]) {
        let lines = events.suffix(40).map { event in
            "  \(event.number) \(event.microseconds / 1_000) ms \(event.app ?? "-") \(event.what) \(event.detail)"
        }
        let what = limit.map { "has not come within \($0)" } ?? "has come"
        description =
            "\(expectation.description) \(what); the log:\n" + lines.joined(separator: "\n")
    }
}
