import RepriseCore
import RepriseWire

/// A connection's entries among those of its user and its device; each is made and given back once.
struct ConnectionAdmission {
    /// Its device in the roster; nil before authentication.
    private var device: ConnectingDevice?
    /// The user among whose connections it counts.
    private var user: UserID?
    /// Whether it has said that it is idle.
    private var isIdle = false

    /// Its hello says whether its device is in use.
    mutating func heard(_ hello: ClientFrame.Hello) {
        // Another one ends the connection, which counts as it is.
        if user == nil { isIdle = hello.isIdle }
    }

    /// Counts it as a connection of its user, within the limit.
    mutating func admit(_ user: UserID, by gateway: Gateway) -> Bool {
        guard gateway.admits(user) else { return false }
        self.user = user
        gateway.presence?.connected(user, isIdle: isIdle)
        return true
    }

    /// It counts no more among its user's connections.
    mutating func release(at gateway: Gateway) {
        guard let user = user.take() else { return }
        gateway.left(user)
        gateway.presence?.left(user, wasIdle: isIdle)
    }

    /// Its device is in use, or idle.
    mutating func reported(isIdle: Bool, to presence: PresenceService) {
        guard let user, isIdle != self.isIdle else { return }
        self.isIdle = isIdle
        presence.reported(user, isIdle: isIdle)
    }

    /// Enters it among its device's connections.
    mutating func enter(
        _ place: Gateway.Place, as device: ConnectingDevice, at gateway: Gateway
    ) {
        self.device = device
        gateway.entered(place, as: device)
    }

    /// Its hello counts.
    func arrive(
        _ place: Gateway.Place, _ generation: Generation?, at gateway: Gateway
    ) -> DeviceRoster<Gateway.Place>.Arrival {
        guard let device else { preconditionFailure("driver bug: arrived before it entered") }
        return gateway.arrived(place, as: device, generation)
    }

    /// It has ended.
    mutating func end(_ place: Gateway.Place, at gateway: Gateway) {
        if let device { gateway.left(place, as: device) }
        release(at: gateway)
    }
}
