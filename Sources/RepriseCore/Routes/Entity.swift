/// A thing of the app's own that a route can lead to, as the app's store has it now.
public struct Entity: Hashable, Sendable, Codable, Identifiable {
    /// Whether it is in use.
    public enum State: String, Hashable, Sendable, Codable, CaseIterable {
        /// It is in use.
        case active
        /// Put aside for a while.
        case paused
        /// Put aside for good, and kept.
        case archived
    }

    /// A part of it, as a question of a goal.
    public struct Part: Hashable, Sendable, Codable, Identifiable {
        /// As in ``Route/part``.
        public var id: String
        /// For people.
        public var title: String

        /// Describes a part.
        public init(id: String, title: String) {
            self.id = id
            self.title = title
        }
    }

    /// As in ``Route/id``.
    public var id: String
    /// For people.
    public var title: String
    /// Whether it is in use.
    public var state: State
    /// Whose it is; nil: there is only one person.
    public var owner: String?
    /// Its parts.
    public var parts: [Part]

    /// Describes an entity.
    ///
    /// - Parameters:
    ///   - id: as in ``Route/id``.
    ///   - title: for people.
    ///   - state: whether it is in use.
    ///   - owner: whose it is.
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
