/// What a route turned out to be, when the app's store was asked.
///
/// There is no default: each case is a screen of its own, or a decision not to show one.
public enum Resolution: Hashable, Sendable {
    /// It is in use.
    case active(Entity, Place)
    /// It is there and put aside, for a while or for good: ``Entity/state`` says which.
    case paused(Entity)
    /// It was deleted, at this moment if the store knows.
    case deleted(when: WallTime?)
    /// The store has never heard of it.
    case missing(id: String)
    /// Another entity has taken its place, as after an import.
    case superseded(by: Entity)
    /// There is no route in what came, or none that can be used.
    case malformed(Malformation)

    /// Where in an entity.
    public enum Place: Hashable, Sendable {
        /// The entity as a whole: the route names no part.
        case whole
        /// This part.
        case part(Entity.Part)
        /// The route names a part that is no more: the entity as a whole stands for it.
        case partGone(id: String)
    }
}

/// What is wrong with a payload that should have had a route.
public enum Malformation: Hashable, Sendable {
    /// It is no JSON object, or one beyond the limits (4,096 bytes, 16 levels).
    case notJSON
    /// It carries no route: it was made by another library, or by nobody.
    case noRoute
    /// This field is not there.
    case missing(field: String)
    /// This field is of another type, or empty, or too long.
    case invalid(field: String)
    /// It is of a version of the format that this one does not know.
    case newer(version: Int)
    /// It leads to an entity of another user than the one who is signed in.
    case anotherUser
    /// It leads to a sort of entity that this app does not have.
    case unknownSort(String)
}
