import RepriseCore
import RepriseWire

/// The bounds of accounts in which waiting frees nothing, unlike in a queue.
///
/// Their error's code is `full`, which the gateways of a cluster compare; over HTTP they have one
/// of their own, with status 409, so that a device does not try again for ever.
enum AccountBound {
    static let channels = RepriseError(
        .full, "A user makes at most \(AccountLimits.channelsMade) channels.",
        remedy: "An admin may make more.")
    static let members = RepriseError(
        .full, "A channel has at most \(AccountLimits.members) members.",
        remedy: "Remove others first.")
    static let membersMade = RepriseError(
        .full,
        "The channels of one maker have at most \(AccountLimits.membersMade) members together.",
        remedy: "An admin may add more.")
    static let mutes = RepriseError(
        .full, "A user has at most \(PushLimits.mutes) mutes.", remedy: "End another one first.")

    /// The code over HTTP; nil for any other error.
    static func code(of error: RepriseError) -> String? {
        switch error {
        case channels: RefusalCode.tooManyChannels.name
        case members, membersMade: RefusalCode.tooManyMembers.name
        case mutes: "tooManyMutes"
        default: nil
        }
    }
}
