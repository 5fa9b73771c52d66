// Apple's frameworks behind the ports of RepriseCore, one adapter a port; it makes no decisions. On
// other systems the module is empty.
