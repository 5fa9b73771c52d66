import RepriseCore

/// Records a scenario's expectations, and the faults during its run.
actor NoticesRecorder {
    /// One message, and what a person is to see of it.
    struct Message: Hashable, Sendable {
        /// The expected notification of a message.
        enum Due: Hashable, Sendable {
            /// A banner, before the app is opened.
            case banner
            /// At the latest when the app is opened.
            case atOpen
            /// No banner.
            case quiet
            /// Either way.
            case any
        }

        let id: String
        let channel: String
        let seq: Int64
        /// When the server had stored it, on the clock of the phone's log.
        let microseconds: Int64
        let due: Due
    }

    private(set) var messages: [Message] = []
    private(set) var faults: [NoticesResult.Fault] = []
    /// The expected targets of taps, in order.
    private(set) var routes: [String] = []

    func note(_ message: Message) { messages.append(message) }
    func note(_ fault: NoticesResult.Fault) { faults.append(fault) }
    func taps(_ channel: String) { routes.append(channel) }
    func message(_ id: String) -> Message? { messages.first { $0.id == id } }
    func newest(in channel: String) -> Int64 {
        messages.last { $0.channel == channel }?.seq ?? 0
    }
}
