/// How a server authenticates users, without its keys: equal on all gateways of a cluster.
package enum AccessMode: String, Hashable, Sendable {
    case open, development, keys

    package init(_ access: Access) {
        switch access {
        case .open: self = .open
        case .tokens(.development): self = .development
        case .tokens: self = .keys
        }
    }

    /// Whether a channel that nobody made is public.
    package var implicitChannels: Bool { self != .keys }

    /// As an operator gives it: `with --dev`.
    package var flags: String {
        switch self {
        case .open: "without keys"
        case .development: "with --dev"
        case .keys: "with --keys or --jwks"
        }
    }
}
