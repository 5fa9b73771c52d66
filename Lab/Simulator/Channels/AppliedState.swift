import RepriseWire

/// What messages look like once all edits and deletions are applied: the checkers' own idea of it.
struct AppliedState {
    private var bodies: [Int64: [UInt8]] = [:]

    /// - Parameter events: what a log or a journal has, in any order.
    init(
        _ events: [(seq: Int64, change: MessageChange<Int64>?, isDeleted: Bool, body: [UInt8])]
    ) {
        let ordered = events.sorted { $0.seq < $1.seq }
        for event in ordered where event.change == nil { bodies[event.seq] = event.body }
        // The last one of a message that is not deleted, nor is the message.
        for event in ordered where !event.isDeleted {
            if case .edits(let target) = event.change, bodies[target] != nil {
                bodies[target] = event.body
            }
        }
        for event in ordered where event.isDeleted && event.change == nil {
            bodies[event.seq] = Array("null".utf8)
        }
    }

    /// nil for what is no message of its own, or is not there.
    func body(of seq: Int64) -> [UInt8]? { bodies[seq] }
}
