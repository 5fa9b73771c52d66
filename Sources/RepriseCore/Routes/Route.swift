/// The destination of a tap: an entity of the app, and perhaps a part of it.
///
/// Reminders, banners, pushes and deep links all carry one.
public struct Route: Hashable, Sendable, Codable {
    /// The sort of entity, as in `goal` or `channel`: 1 to 64 bytes.
    public var sort: String
    /// The entity's id in the app's store: 1 to 128 bytes.
    public var id: String
    /// A part of the entity, as a question of a goal: 1 to 128 bytes; nil: the entity as a whole.
    public var part: String?
    /// Its owner, where several people use a device: 1 to 256 bytes; nil: unspecified.
    public var owner: String?
    /// Whether it is a test: it rings and leads somewhere, and stores nothing.
    public var isTest: Bool

    /// Makes a route.
    ///
    /// - Parameters:
    ///   - sort: the sort of entity.
    ///   - id: the entity's id.
    ///   - part: a part of the entity.
    ///   - owner: its owner.
    ///   - isTest: whether it is a test.
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
