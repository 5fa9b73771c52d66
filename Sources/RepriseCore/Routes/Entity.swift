/// An object of the app that a route can lead to, in its current state.
public struct Entity: Hashable, Sendable, Codable, Identifiable {
    /// Whether it is in use.
    public enum State: String, Hashable, Sendable, Codable, CaseIterable {
        /// It is in use.
        case active
        /// Set aside for a while.
        case paused
        /// Set aside for good, and kept.
        case archived
    }

    /// A part of it, as a question of a goal.
    public struct Part: Hashable, Sendable, Codable, Identifiable {
        /// As in ``Route/part``.
        public var id: String
        /// The title, for people.
        public var title: String

        /// Describes a part.
        public init(id: String, title: String) {
            self.id = id
            self.title = title
        }
    }

    /// As in ``Route/id``.
    public var id: String
    /// The title, for people.
    public var title: String
    /// Whether it is in use.
    public var state: State
    /// Its owner; nil: the app has only one person.
    public var owner: String?
    /// The parts that a route may lead to.
    public var parts: [Part]

    /// Describes an entity.
    ///
    /// - Parameters:
    ///   - id: as in ``Route/id``.
    ///   - title: the title, for people.
    ///   - state: whether it is in use.
    ///   - owner: its owner.
    ///   - parts: its parts.
    public init(
        id: String, title: String, state: State = .active, owner: String? = nil, parts: [Part] = []
    ) {
        self.id = id
        self.title = title
        self.state = state
        self.owner = owner
        self.parts = parts
    }
}
