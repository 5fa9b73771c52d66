extension Reminders {
    /// Handlers of taps and actions are set; called before `.store` opens.
    func routingStarted(_ store: any ReminderStore) async {}

    /// The door runs no more; called after `.store` is closed.
    func routingStopped() async {}
}
