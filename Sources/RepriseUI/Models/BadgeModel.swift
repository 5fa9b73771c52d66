public import Observation
public import Reprise

/// The number on the app's icon, for a screen.
///
/// ```swift
/// struct Inbox: View {
///     let badge: BadgeModel                         // client.badgeModel
///
///     var body: some View { Text("Inbox").badge(badge.count) }
/// }
/// ```
///
/// It goes on with the next account. Without `configuration.notices` it stays at 0.
@MainActor @Observable
public final class BadgeModel {
    /// The badge as notices have it.
    public private(set) var badge = IconBadge()
    /// The number on the icon.
    public var count: Int { Int(clamping: badge.count) }
    /// The unread messages that are on this device, of all channels.
    public var total: Int { Int(clamping: badge.total) }
    /// Whether a push has announced messages that are not on this device yet.
    public var isAhead: Bool { badge.asOf != nil }

    @ObservationIgnored private let watches = Watches()

    /// Makes the model, and begins to watch; see `client.badgeModel`.
    public init(_ client: RepriseClient) {
        watches.follow(
            accountsOf: client, for: self, { try await $0.notices.badges }, { $0.badge = $1 })
    }
}
