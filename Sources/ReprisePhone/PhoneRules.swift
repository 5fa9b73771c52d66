/// What Apple's documentation leaves open about a device: `docs/phone.md` has a row for each, and tests run it both ways.
public struct PhoneRules: Hashable, Sendable, Codable {
    /// The rules that the phone follows where nothing is said.
    public init() {}
}
