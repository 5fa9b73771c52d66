public import Observation
public import Reprise

/// The presence of a channel's other members, for a screen that shows it.
///
/// ```swift
/// struct OnlineDot: View {
///     @State var model: PresenceModel      // PresenceModel(client.channel(ben, of: Note.self))
///
///     var body: some View {
///         let isOnline = model.presence.users.values.contains { $0.state == .online }
///         Circle().fill(isOnline ? .green : .gray)
///     }
/// }
/// ```
///
/// The device asks the server as long as the model exists: let the view that shows it own it.
@MainActor @Observable
public final class PresenceModel {
    /// What the server has told: of each user the state, and when he was seen.
    public private(set) var presence = ChannelPresence.unknown

    @ObservationIgnored private let watches = Watches()

    /// Begins to ask for a channel's members, or for some of them.
    ///
    /// - Parameters:
    ///   - channel: one of which the user is a member.
    ///   - users: the members who are shown, at most 100; nil: all others, of at most 100 members.
    public init<Body: Sendable>(_ channel: TypedChannel<Body>, of users: Set<UserID>? = nil) {
        let values = users.map { channel.presence(of: $0) } ?? channel.presence
        watches.follow(values, for: self) { $0.presence = $1 }
    }
}
