import Foundation

/// A command to a chain: the content of an entry of kind `chains-command`.
///
/// A tool leaves it in the spool: `{"command":"cancel","chain":"ID"}`.
package struct ChainCommand: Hashable, Sendable, Codable {
    /// The command.
    package enum Verb: String, Hashable, Sendable, Codable {
        case pause, resume, cancel, retry
        /// Removes it, if it has ended.
        case delete
        /// Removes all that ended so many seconds ago; it names no chain.
        case clear
        /// Removes a schedule; it names no chain.
        case unschedule
        /// Ours: the chain before it of its name has ended, or its delay.
        case begin
        /// Internal: evaluate the chain's state.
        case look
        /// Internal: the task's wait is over.
        case release
        /// Internal: its deadline has come, or that of the task.
        case late
        /// Internal: the next time of a schedule has come; it names no chain.
        case scheduled
    }

    package var command: Verb
    package var chain: String
    /// The name of the task concerned; of `unschedule` and `scheduled` that of the schedule.
    package var task: String?
    /// Of `clear`.
    package var seconds: Int64?

    /// Whether the feature has said it to itself: it may come when the chain has left.
    package var isInternal: Bool {
        switch command {
        case .begin, .look, .release, .late, .scheduled: true
        case .pause, .resume, .cancel, .retry, .delete, .clear, .unschedule: false
        }
    }

    package init(
        _ command: Verb, chain: String, task: String? = nil, seconds: Int64? = nil
    ) {
        self.command = command
        self.chain = chain
        self.task = task
        self.seconds = seconds
    }

    package init(_ bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(bytes))
    }

    /// As JSON.
    package var bytes: [UInt8] {
        guard task == nil, seconds == nil else { return (try? ChainJSON.encode(self)) ?? [] }
        // An id has no character that would have to be escaped.
        return Array(#"{"command":"\#(command.rawValue)","chain":"\#(chain)"}"#.utf8)
    }
}

/// The content of an entry for a task.
package struct IntentPayload: Hashable, Sendable, Codable {
    package var chain: Int64
    package var place: Int
    package var isCompensation: Bool
    package var round: Int

    enum CodingKeys: String, CodingKey {
        case chain, place, round
        case isCompensation = "undo"
    }

    package init(chain: Int64, place: Int, isCompensation: Bool, round: Int) {
        (self.chain, self.place) = (chain, place)
        (self.isCompensation, self.round) = (isCompensation, round)
    }

    var bytes: [UInt8] {
        Array(
            #"{"chain":\#(chain),"place":\#(place),"round":\#(round),"undo":\#(isCompensation)}"#
                .utf8)
    }
}
