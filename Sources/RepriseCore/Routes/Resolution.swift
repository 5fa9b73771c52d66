/// The result of looking a route up in the app's store.
///
/// It has no default: each case is a screen of its own, or a decision not to show one.
public enum Resolution: Hashable, Sendable {
    /// It is in use.
    case active(Entity, Place)
    /// It exists and is set aside, for a while or for good: ``Entity/state`` tells which.
    case paused(Entity)
    /// It was deleted, at this moment if the store knows.
    case deleted(when: WallTime?)
    /// The store has never known it.
    case missing(id: String)
    /// Another entity has replaced it, as after an import.
    case superseded(by: Entity)
    /// The payload has no route, or no usable one.
    case malformed(Malformation)

    /// The place within an entity.
    public enum Place: Hashable, Sendable {
        /// The entity as a whole: the route names no part.
        case whole
        /// This part.
        case part(Entity.Part)
        /// The route names a part that no longer exists: the entity as a whole stands for it.
        case partGone(id: String)
    }
}

/// The defect of a payload that should have had a route.
public enum Malformation: Hashable, Sendable {
    /// Not a JSON object, or one beyond the limits (4,096 bytes, 16 levels).
    case notJSON
    /// It has no route: another library made it.
    case noRoute
    /// This field is absent.
    case missing(field: String)
    /// This field has another type, or is empty, or too long.
    case invalid(field: String)
    /// Its format version is not known here.
    case newer(version: Int)
    /// It leads to an entity of another user than the signed-in one.
    case anotherUser
    /// It leads to a sort of entity that this app does not have.
    case unknownSort(String)
}
