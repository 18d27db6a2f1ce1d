The admission plugins `Priority` and `DefaultIngressClass` give pods the priority of their class, of which one at most is the default, and ingresses the default class.
