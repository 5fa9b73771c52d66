import RepriseCore
import RepriseWire

/// A connection's entries among those of its user and its device; each is made and given back once.
struct ConnectionAdmission {
    /// Its key in the roster of devices; nil before authentication.
    private var key: Gateway.Roster.Key?
    /// The user among whose connections it counts.
    private var user: UserID?

    /// Counts it as a connection of its user, within the limit.
    mutating func admit(_ user: UserID, by gateway: Gateway) -> Bool {
        guard gateway.admits(user) else { return false }
        self.user = user
        return true
    }

    /// It counts no more among its user's connections.
    mutating func release(at gateway: Gateway) {
        if let user = user.take() { gateway.left(user) }
    }

    /// Enters it as its device's newest connection.
    ///
    /// - Returns: the device's older connections.
    mutating func enter(
        _ place: Gateway.Place, as key: Gateway.Roster.Key, at gateway: Gateway
    ) -> [Gateway.Place] {
        self.key = key
        return gateway.arrived(place, as: key)
    }

    /// It has ended.
    mutating func end(_ place: Gateway.Place, at gateway: Gateway) {
        if let key { gateway.left(place, as: key) }
        release(at: gateway)
    }
}
