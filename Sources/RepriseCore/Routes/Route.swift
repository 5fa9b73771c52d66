/// What a tap leads to: an entity of the app, and perhaps a part of it.
///
/// Reminders, banners, pushes and deep links all carry one.
public struct Route: Hashable, Sendable, Codable {
    /// What sort of entity, as in `goal` or `channel`: 1 to 64 bytes.
    public var sort: String
    /// Which one, as the app's store knows it: 1 to 128 bytes.
    public var id: String
    /// The part of it, as a question of a goal: 1 to 128 bytes; nil: the entity as a whole.
    public var part: String?
    /// Whose it is, where several people use a device: 1 to 256 bytes; nil: nobody said.
    public var owner: String?
    /// Whether it is only tried: it rings and leads somewhere, and nothing of it is stored.
    public var isTest: Bool

    /// Names a place.
    ///
    /// - Parameters:
    ///   - sort: what sort of entity.
    ///   - id: which one.
    ///   - part: the part of it.
    ///   - owner: whose it is.
    ///   - isTest: whether it is only tried.
    public init(
        sort: String, id: String, part: String? = nil, owner: String? = nil, isTest: Bool = false
    ) {
        self.sort = sort
        self.id = id
        self.part = part
        self.owner = owner
        self.isTest = isTest
    }
}
